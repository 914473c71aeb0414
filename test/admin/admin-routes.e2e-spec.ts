import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectError } from '../support/expect-error.js';
import { Client, COOKIE, sharedService, startService, temporaryFolder, token } from '../support/service.js';

const FILES = [
  ['/admin', 'text/html; charset=utf-8'],
  ['/admin/', 'text/html; charset=utf-8'],
  ['/admin/admin.css', 'text/css; charset=utf-8'],
  ['/admin/admin.js', 'text/javascript; charset=utf-8'],
] as const;

const DATA = ['/admin/status', '/admin/document'];

describe('the routes of the admin page', () => {
  const folder = temporaryFolder();
  const settings = { ADMIN_PAGE: 'true', DOCS: 'false', BACKUP_DIR: folder, COOKIES_CAPACITY: '7' };
  const { service, client } = sharedService(settings);
  const admin = (from = service) => Client.of(from, { scope: 'admin:read' });

  it.each(FILES)(
    'GET %s is 200 without a token, with its type and a policy without inline scripts',
    async (path, type) => {
      const { status, headers, text } = await Client.bearing(service).get(path);
      expect([status, headers.get('content-type')]).toEqual([200, type]);
      const policy = headers.get('content-security-policy')!.split('; ');
      const directives = [
        ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"],
        ...["frame-ancestors 'none'", "form-action 'none'", "require-trusted-types-for 'script'"],
      ];
      expect(policy).toEqual(expect.arrayContaining(directives));
      if (path.endsWith('.js')) return;
      const names = [...text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, name]) => name!);
      const paths = names.filter((name) => !name.startsWith('data:')).map((name) => new URL(name, service.url + path));
      expect(paths.map(({ pathname }) => pathname)).toEqual(
        type.startsWith('text/html') ? ['/admin/admin.css', '/admin/admin.js'] : [],
      );
    },
  );

  it.each(['/admin/admin.html', '/admin/page/admin.js', '/admin/..%2fadmin.controller.js', '/openapi.json', '/docs'])(
    'GET %s is 404',
    async (path) => {
      expectError(await admin().get(path), 404, 'NOT_FOUND');
    },
  );

  it.each(DATA)('GET %s is 401 without a token, and 403 without the scope admin:read', async (path) => {
    expectError(await Client.bearing(service).get(path), 401, 'UNAUTHENTICATED');
    const answer = await client.get(path);
    expectError(answer, 403, 'INSUFFICIENT_SCOPE');
    expect(answer.body.message).toContain('admin:read');
  });

  it('GET /admin/document is the document that DOCS does not publish, without the routes of the page', async () => {
    const { status, body } = await admin().get('/admin/document');
    expect(status).toBe(200);
    expect(Object.keys(body.paths)).toEqual(['/cookies', '/cookies/{id}']);
  });

  it('GET /admin/status has health, usage, capacity and the newest ten backups', async () => {
    await client.post(COOKIE);
    const names = Array.from({ length: 12 }, (_, day) => `cookies-202601${String(day + 10)}T120000Z.sqlite`);
    for (const name of [...names, 'cookies-29990101T120000Z.sqlite', 'notes.txt'])
      writeFileSync(join(folder, name), 'x');
    const { status, body, headers } = await admin().get('/admin/status');
    expect([status, headers.get('cache-control')]).toEqual([200, 'private, no-cache']);
    expect(body).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      health: { ready: true, checks: { running: 'ok', database: 'ok', migrations: 'ok', storage: 'ok' } },
      resources: [{ resource: 'cookies', text: 'cookies', capacity: 7, audited: false, count: 1 }],
      backups: { files: expect.any(Array) },
    });
    expect(body.backups.files.map(({ name }: { name: string }) => name)).toEqual(names.reverse().slice(0, 10));
    expect(body.backups.files[0]).toMatchObject({ time: '2026-01-21T12:00:00.000Z', size: 1 });
  });

  it('GET /admin/status says that BACKUP_DIR cannot be read, and has no backups without BACKUP_DIR', async () => {
    const missing = join(folder, 'missing');
    mkdirSync(missing);
    await using without = await startService({ ADMIN_PAGE: 'true' });
    await using lost = await startService({ ADMIN_PAGE: 'true', BACKUP_DIR: missing });
    rmdirSync(missing);
    expect((await admin(without).get('/admin/status')).body.backups).toBeNull();
    expect((await admin(lost).get('/admin/status')).body.backups).toEqual({
      files: [],
      problem: expect.stringContaining('BACKUP_DIR cannot be read: ENOENT'),
    });
  });
});

it('without ADMIN_PAGE, every path of the admin page is 404, with a token and without', async () => {
  await using service = await startService();
  for (const path of [...FILES.map(([file]) => file), ...DATA]) {
    expectError(await Client.bearing(service).get(path), 404, 'NOT_FOUND');
    expectError(await Client.bearing(service, await token({ scope: 'admin:read' })).get(path), 404, 'NOT_FOUND');
  }
});
