import { once } from 'node:events';
import { runInNewContext } from 'node:vm';
import { openFiles } from '../faults/process-figures.js';
import { expectError } from '../support/expect-error.js';
import { connected } from '../support/raw-http.js';
import { Client, sharedService, startService } from '../support/service.js';

const JSON_TYPE = 'application/json; charset=utf-8';
const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

const FILES = [
  ['/openapi.json', JSON_TYPE],
  ['/docs', HTML],
  ['/docs/', HTML],
  ['/docs/swagger-initializer.js', SCRIPT],
  ['/docs/swagger-ui-bundle.js', SCRIPT],
  ['/docs/swagger-ui.css', CSS],
  ['/docs/index.css', CSS],
  ['/docs/favicon-32x32.png', 'image/png'],
] as const;

/** Other files of Swagger UI, and files that a careless file server would expose. */
const OTHERS = [
  ...['/docs/index.html', '/docs/package.json', '/docs/swagger-ui.js', '/docs/swagger-ui-bundle.js.map'],
  ...['/docs/docs/swagger-ui.css', '/docs/%2e%2e/package.json', '/docs/..%2fpackage.json', '/docs/swagger-ui.css/'],
  ...['/docs//swagger-ui.css', '/openapi.json/', '/docs-json'],
];

describe('the files of the docs', () => {
  const { service } = sharedService();
  const client = Client.bearing(service);

  it.each(FILES)(
    'GET %s is 200 with type, length, ETag and no-cache, and HEAD with the same',
    async (path, mediaType) => {
      const response = await fetch(service.url + path);
      const { byteLength } = await response.arrayBuffer();
      expect(response.status).toBe(200);
      expect(byteLength).toBeGreaterThan(100);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': mediaType,
        'content-length': String(byteLength),
        'cache-control': 'no-cache',
        etag: expect.stringMatching(/^"[\w-]{43}"$/),
        'x-content-type-options': 'nosniff',
      });
      const head = await client.request('HEAD', path);
      expect([head.status, head.text]).toEqual([200, '']);
      expect(fieldsOf(head.headers)).toEqual(fieldsOf(response.headers));
    },
  );

  it.each(FILES)('GET and HEAD %s with its ETag are 304', async (path) => {
    const etag = (await client.get(path)).headers.get('etag')!;
    for (const condition of [etag, `W/${etag}`, `"another", ${etag}`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await client.request(method, path, { headers: { 'if-none-match': condition } });
        expect([answer.status, answer.text.length, answer.headers.get('etag')]).toEqual([304, 0, etag]);
        expect(answer.headers.get('cache-control')).toBe('no-cache');
      }
    }
    expect((await client.get(path, { 'if-none-match': '"another"' })).status).toBe(200);
  });

  it.each(FILES)('GET %s with a query parameter is 400 that names it', async (path) => {
    const answer = await client.get(`${path}?url=https://example.com`);
    expectError(answer, 400, 'INVALID_REQUEST');
    expect(answer.body.details).toMatchObject([{ parameter: 'url' }]);
  });

  it('GET /openapi.json has an equal ETag in another process, and other files have other ETags', async () => {
    await using other = await startService();
    const etagOf = async (path: string, from = service) =>
      (await fetch(from.url + path, { method: 'HEAD' })).headers.get('etag');
    expect(await etagOf('/openapi.json', other)).toBe(await etagOf('/openapi.json'));
    const etags = await Promise.all(FILES.map(([path]) => etagOf(path)));
    expect(new Set(etags).size).toBe(FILES.length);
  });

  it.each(FILES.filter(([path]) => path !== '/openapi.json'))(
    'GET %s allows only content from this origin',
    async (path) => {
      const policy = (await client.get(path)).headers.get('content-security-policy')!;
      expect(policy.split('; ').sort()).toEqual([
        ...["base-uri 'none'", "connect-src 'self'", "default-src 'none'", "form-action 'none'"],
        ...["frame-ancestors 'none'", "img-src 'self' data:", "script-src 'self'", "style-src 'self'"],
      ]);
    },
  );

  it.each(['/docs', '/docs/'])('GET %s names only files that are served', async (path) => {
    const { text } = await client.get(path);
    const names = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name!);
    const paths = names.map((name) => new URL(name, service.url + path).pathname);
    expect(paths).toHaveLength(5);
    expect(FILES.map(([file]) => file)).toEqual(expect.arrayContaining(paths));
  });

  it('the page keeps no token, takes no settings from its address, and does not send the document elsewhere', async () => {
    const { text } = await client.get('/docs/swagger-initializer.js');
    let options: unknown;
    const document = { currentScript: { src: `${service.url}/docs/swagger-initializer.js` } };
    runInNewContext(text, { URL, document, SwaggerUIBundle: (given: unknown) => (options = given) });
    const closed = { persistAuthorization: false, queryConfigEnabled: false, validatorUrl: null };
    expect(options).toMatchObject({ ...closed, url: `${service.url}/openapi.json` });
  });

  (process.platform === 'linux' ? it : it.skip)(
    'GET of a file that its client does not read keeps no file open',
    async () => {
      const socket = await connected(service.url);
      socket.write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: cookies\r\n\r\n'.repeat(10));
      await once(socket, 'data');
      socket.pause();
      const open = openFiles(process.pid);
      expect(open).toEqual(expect.arrayContaining([expect.stringMatching(/^socket:/)]));
      expect(open.filter((path) => path.includes('swagger-ui'))).toEqual([]);
      socket.destroy();
    },
  );

  it.each(OTHERS)('GET %s is 404 in the shape of all errors', async (path) => {
    expectError(await client.get(path), 404, 'NOT_FOUND');
  });

  it.each(FILES)('another method on %s is 405, and OPTIONS names the allowed ones', async (path) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await client.request(method, path);
      expectError(answer, 405, 'METHOD_NOT_ALLOWED');
      expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    }
    const options = await client.request('OPTIONS', path);
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  });
});

describe.each([
  { NODE_ENV: 'production', served: false },
  { NODE_ENV: 'production', DOCS: 'true', served: true },
  { NODE_ENV: 'development', served: true },
  { NODE_ENV: 'development', DOCS: 'false', served: false },
])('with NODE_ENV=$NODE_ENV and DOCS=$DOCS', ({ served, ...environment }) => {
  it(`every file of the docs is ${served ? 200 : 404}`, async () => {
    await using service = await startService(environment);
    const client = Client.bearing(service);
    for (const [path] of FILES) {
      const answer = await client.get(path);
      if (served) expect(answer.status).toBe(200);
      else expectError(answer, 404, 'NOT_FOUND');
    }
  });
});

const OF_ONE_RESPONSE = ['connection', 'date', 'keep-alive', 'x-request-id'];

/** Header fields without those that differ in every response. */
function fieldsOf(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => !OF_ONE_RESPONSE.includes(name)));
}
