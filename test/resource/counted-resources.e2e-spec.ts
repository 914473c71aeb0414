import { getRepositoryToken } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Cookie } from '../../src/cookies/cookie.entity.js';
import { openDataSource } from '../support/data-source.js';
import { databaseUrlFor, engineInUse, provideDatabase } from '../support/engine.js';
import { startLoggedService } from '../support/logged-service.js';
import { Client, COOKIE, sharedService, startService, temporaryFolder } from '../support/service.js';

describe(`the start of the service (${engineInUse()})`, () => {
  const folder = temporaryFolder();

  beforeAll(() => provideDatabase(folder));

  /** Starts a service, works with it and returns its log. */
  const serve = async (capacity: number, work: (client: Client) => Promise<void>): Promise<string> => {
    await using service = await startLoggedService({
      COOKIES_CAPACITY: String(capacity),
      DATABASE_URL: databaseUrlFor(folder),
    });
    await work(Client.of(service));
    return service.output;
  };

  it('makes missing triggers and counts the records, so that an old ETag does not match', async () => {
    let etag = '';
    await serve(3, async (client) => {
      for (let count = 0; count < 3; count++) await client.post(COOKIE);
      etag = (await client.get('/cookies')).headers.get('etag')!;
    });
    const dataSource = await openDataSource({}, [], folder);
    await dataSource.query(`DROP TRIGGER cookies_delete${engineInUse() === 'postgres' ? ' ON cookies' : ''}`);
    await dataSource.query('DELETE FROM cookies WHERE id = 2');
    await dataSource.destroy();
    const log = await serve(3, async (client) => {
      const list = await client.get('/cookies', { 'if-none-match': etag });
      expect([list.status, list.headers.get('x-total-count')]).toEqual([200, '2']);
      expect((await client.request('DELETE', '/cookies/1')).status).toBe(204);
      expect([(await client.post(COOKIE)).status, (await client.post(COOKIE)).status]).toEqual([201, 201]);
      expect((await client.post(COOKIE)).status).toBe(507);
    });
    expect(log).toMatch(/The triggers of cookies were missing or outdated: they were made again/);
  });

  it('writes the capacity into the database, for all writers, and logs a difference', async () => {
    const log = await serve(4, async (client) => {
      expect([(await client.post(COOKIE)).status, (await client.post(COOKIE)).status]).toEqual([201, 507]);
    });
    expect(log).toMatch(/"msg":"The capacity of cookies was 3, and is now 4"/);
    expect(log).not.toMatch(/The triggers/);
    expect(await serve(4, async () => {})).not.toMatch(/The capacity/);
  });
});

describe('a resource without its storage row', () => {
  const { service, client } = sharedService({ LOG_LEVEL: 'silent' });
  let dataSource: DataSource;

  beforeAll(async () => {
    dataSource = service.app.get(DataSource);
    await client.post(COOKIE);
  });

  const ready = async (): Promise<{ status: number; storage: string }> => {
    const response = await fetch(`${service.managementUrl}/health/ready`);
    const { checks } = (await response.json()) as { checks: { storage: string } };
    return { status: response.status, storage: checks.storage };
  };

  it.each<[method: string, path: string, body: object | undefined]>([
    ['GET', '/cookies/1', undefined],
    ['GET', '/cookies', undefined],
    ['POST', '/cookies', COOKIE],
    ['PUT', '/cookies/1', { flavor: 'vanilla', size: 'small' }],
    ['PATCH', '/cookies/1', {}],
    ['PATCH', '/cookies/1', { size: 'large' }],
    ['DELETE', '/cookies/1', undefined],
  ])(
    `makes %s %s 500 and the service not ready, until the row is back (${engineInUse()})`,
    async (method, path, body) => {
      const [row] = await dataSource.query(`SELECT epoch, revision, used FROM storage WHERE resource = 'cookies'`);
      expect(await ready()).toEqual({ status: 200, storage: 'ok' });
      await dataSource.query(`DELETE FROM storage WHERE resource = 'cookies'`);
      expect((await client.request(method, path, { body })).status).toBe(500);
      expect(await ready()).toEqual({ status: 503, storage: expect.stringContaining('no row for "cookies"') });
      await dataSource.query(
        `INSERT INTO storage (resource, epoch, revision, used) VALUES ('cookies', '${row.epoch}', ${row.revision}, ${row.used})`,
      );
      expect(await ready()).toEqual({ status: 200, storage: 'ok' });
      expect((await client.get('/cookies/1')).status).toBe(200);
    },
  );
});

it(`a start whose test overrides the TypeORM repository of a resource names the way to do it (${engineInUse()})`, async () => {
  const started = startService({}, [], [], (module) =>
    module.overrideProvider(getRepositoryToken(Cookie)).useValue({ find: () => [] }),
  ).then((service) => service.stop());
  await expect(started).rejects.toThrow(/repository of Cookie was overridden .* 'CookieResourceRepository'/);
});
