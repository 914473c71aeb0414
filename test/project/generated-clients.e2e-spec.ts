import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { startService, token } from '../support/service.js';

const MODULES = resolve('node_modules');
const PROGRAMS = resolve('test/generated-clients');

/** Each generator, the program that uses its client, and the generator's arguments after the document's URL. */
const CLIENTS = [
  ['openapi-typescript', 'use-openapi-fetch', ['openapi-typescript/bin/cli.js', '-o', 'openapi-fetch-schema.ts']],
  ['oazapfts', 'use-oazapfts', ['oazapfts/dist/cli.js', 'oazapfts-client.ts']],
] as const;

const COOKIES = [
  { id: 1, flavor: 'vanilla', size: 'small', wish: '🍪' },
  { id: 2, flavor: 'chocolate', size: 'small', wish: '🍪' },
  { id: 3, flavor: 'vanilla', size: 'large', wish: '🍪' },
];

describe('clients generated from the OpenAPI document', () => {
  /** A folder in `node_modules`, so that the clients find their libraries. */
  let folder: string;

  beforeAll(async () => {
    const cache = join(MODULES, '.cache');
    mkdirSync(cache, { recursive: true });
    folder = mkdtempSync(join(cache, 'generated-clients-'));
    cpSync(PROGRAMS, folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    await using service = await startService();
    const generate = ([program, ...args]: readonly [string, ...string[]]) =>
      run(join(MODULES, program), [`${service.url}/openapi.json`, ...args]);
    await Promise.all(CLIENTS.map(([, , generator]) => generate(generator)));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  // Both compilations emit the programs that the next tests run.
  it.each(CLIENTS)('%s: compiles under every strict flag that its library supports', async (_, program) => {
    await run(join(MODULES, 'typescript/bin/tsc'), ['-p', `${program}.tsconfig.json`]);
  });

  it.each(CLIENTS)(
    '%s: create, list, page, read, replace, patch and delete, and read every error',
    async (_, program) => {
      await using service = await startService({ COOKIES_CAPACITY: '3' });
      const tokens = [await token(), await token({ scope: 'cookies:read' })];
      const seen = JSON.parse(await run(join(folder, `${program}.js`), [service.url, ...tokens]));
      expect(seen).toEqual({
        created: COOKIES,
        pages: [[1, 2], [3]],
        alike: [3, 1],
        unchanged: 304,
        replaced: COOKIES[1],
        patched: 204,
        now: { ...COOKIES[1], size: 'large' },
        etag: expect.any(String),
        errors: [
          { statusCode: 400, errorCode: 'INVALID_REQUEST', details: [{ pointer: '/flavor' }] },
          { statusCode: 400, errorCode: 'INVALID_REQUEST', details: [{ parameter: 'limit' }] },
          { statusCode: 400, errorCode: 'INVALID_REQUEST', details: [{ parameter: 'id' }] },
          { statusCode: 401, errorCode: 'UNAUTHENTICATED' },
          { statusCode: 403, errorCode: 'INSUFFICIENT_SCOPE' },
          { statusCode: 404, errorCode: 'COOKIE_NOT_FOUND' },
          { statusCode: 412, errorCode: 'PRECONDITION_FAILED' },
          { statusCode: 413, errorCode: 'PAYLOAD_TOO_LARGE' },
          { statusCode: 431, errorCode: 'REQUEST_HEADER_FIELDS_TOO_LARGE' },
          { statusCode: 507, errorCode: 'STORAGE_FULL' },
        ],
        deleted: [204, 204, 204],
      });
    },
  );

  /** Runs a Node program in the folder and returns its output. */
  async function run(program: string, args: readonly string[]): Promise<string> {
    const running = promisify(execFile)(process.execPath, [program, ...args], { cwd: folder, timeout: 100_000 });
    try {
      return (await running).stdout;
    } catch (error) {
      const { message, stdout } = error as Error & { stdout: string };
      throw new Error(`${message}\n${stdout}`, { cause: error });
    }
  }
});
