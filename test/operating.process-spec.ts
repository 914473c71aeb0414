import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { commandBlocks } from './support/project/command-blocks.js';
import { canMakeCertificates } from './support/certificate.js';
import { freePort } from './support/postgres/postgres-server.js';
import { Client, COOKIE, temporaryFolder } from './support/service.js';

const ROOT = join(import.meta.dirname, '..');
const BLOCKS = [...commandBlocks('docs/operating.md')].filter(([, { runHere }]) => runHere);

/**
 * Runs the blocks of docs/operating.md that need one container, in the order of the page, in real shells. A stand-in
 * for `docker` starts processes instead; `test/compose/documents.js` runs the blocks with Docker.
 */
describe('the commands of docs/operating.md for one container', () => {
  let folder: string;
  let environment: Record<string, string>;
  let client: Client;

  beforeAll(async () => {
    folder = temporaryFolder();
    cpSync(join(ROOT, 'deploy'), join(folder, 'deploy'), { recursive: true });
    for (const name of ['bin', 'backups']) mkdirSync(join(folder, name));
    symlinkSync(join(ROOT, 'test/support/project/one-container.sh'), join(folder, 'bin/docker'));
    const cli = join(folder, 'bin/cli');
    writeFileSync(cli, '#!/bin/sh\nexec node "$PROJECT/dist/src/cli/main.js" "$@"\n');
    chmodSync(cli, 0o755);
    environment = {
      PATH: [join(folder, 'bin'), dirname(process.execPath), process.env['PATH']].join(':'),
      PROJECT: ROOT,
      PORT: String(await freePort()),
      MANAGEMENT_PORT: String(await freePort()),
    };
  });

  afterAll(() => run('docker compose stop service'));

  /** Runs a script as a reader would, with today's date and the folder of this test. */
  async function run(script: string): Promise<string> {
    const adapted = script
      .replaceAll('cookies-2026-11-21', `cookies-$(date +%F)`)
      .replaceAll('/backups', join(folder, 'backups'));
    const options = { cwd: folder, env: environment };
    // Bash would read ~/.bashrc, because its stdin is a socket.
    const shell = ['--norc', '-eo', 'pipefail', '-c', `exec 2>&1\n${adapted}`];
    const { stdout } = await promisify(execFile)('bash', shell, options).catch((error: Error & { stdout: string }) => {
      throw new Error(`${error.message}\n${error.stdout}`);
    });
    return stdout;
  }

  const url = (scheme = 'http', host = '127.0.0.1'): string => `${scheme}://${host}:${environment['PORT']}`;
  const create = async (): Promise<number> => (await client.post(COOKIE)).status;
  const count = async (): Promise<number> => (await client.get('/cookies')).body.length;

  /** The expected results by block. */
  const RESULTS: Record<string, (output: string) => Promise<void> | void> = {
    'One container 1': async (output) => {
      client = Client.bearing({ url: url() }, /^ey[\w-]+\.[\w-]+\.[\w-]+$/m.exec(output)?.[0]);
      expect(await create()).toBe(201);
    },
    'One container 2': async () => {
      expect(await run('docker compose exec service cli doctor')).toMatch(/ 1 cookies of 1000000$/m);
    },
    'TLS 1': async () => {
      const curl = `curl -s -o /dev/null -w '%{http_code}' --cacert secrets/tls_certificate`;
      expect(await run(`${curl} ${url('https', 'localhost')}/cookies`)).toBe('401');
      await run('docker compose up --wait');
    },
    'Back up and restore 1': async () => {
      expect(await create()).toBe(201);
      expect(await count()).toBe(2);
    },
    'Back up and restore 2': async (output) => {
      expect(output).toContain('Restored 1 cookie ');
      expect(await count()).toBe(1);
    },
    'Backups on a schedule 1': (output) => {
      expect(output).toMatch(/can be restored: it holds 1 cookie\b[^]*last backup/);
    },
    'Go back 1': async (output) => {
      expect(output).toContain('has been reverted successfully');
      expect(await count()).toBe(1);
    },
  };

  it('each have expected results, and all others are marked as not run here', () => {
    expect(BLOCKS.map(([name]) => name)).toEqual(Object.keys(RESULTS));
  });

  // Each block needs the results of the previous ones.
  it.each(canMakeCertificates ? BLOCKS : [])('do what the page says: %s', async (name, { script }) => {
    await RESULTS[name]!(await run(script));
  });
});
