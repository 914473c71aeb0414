import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { environmentIn, temporaryFolder, token } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

const MAIN = join(import.meta.dirname, '../../dist/src/main.js');

/** Restarts the service whenever it ends, with the socket in descriptor 3, as systemd does. */
const SUPERVISOR = `
  while [ ! -e stop ]; do
    sh -c 'echo $$ > pid; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" "$1"' "$0" "$1"
  done`;

describe('a socket of systemd', () => {
  let supervisor: ChildProcess | undefined;

  afterEach(() => {
    // After a failed test, kills the supervisor and its service.
    if (supervisor?.exitCode === null) process.kill(-supervisor.pid!, 'SIGKILL');
  });

  /** Starts the service under a supervisor, which is the only owner of the socket. */
  async function supervised(folder: string): Promise<string> {
    const server: Server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
    const env = { PATH: process.env['PATH'], ...environmentIn(folder, { NODE_ENV: 'production' }) };
    supervisor = spawn('sh', ['-c', SUPERVISOR, process.execPath, MAIN], {
      cwd: folder,
      detached: true,
      env,
      stdio: ['ignore', 'ignore', 'inherit', fd],
    });
    server.close();
    return `http://127.0.0.1:${port}`;
  }

  it('loses no request and rejects no connection while the service restarts', async () => {
    const folder = temporaryFolder();
    const url = await supervised(folder);
    /** The process id; 0 while the file is being written. */
    const pid = (): number => Number(readFileSync(join(folder, 'pid'), 'utf8'));
    const headers = { authorization: `Bearer ${await token()}`, connection: 'close' };
    let over = false;
    const outcomes = new Map<unknown, number>();
    const client = async (): Promise<void> => {
      while (!over) {
        const outcome = await fetch(`${url}/cookies?limit=1`, { headers, signal: AbortSignal.timeout(30_000) }).then(
          ({ status }) => status,
          (error: unknown) => error,
        );
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    };
    // The first connections arrive before the service listens.
    const clients = Array.from({ length: 8 }, client);
    const answered = async (more: number): Promise<void> => {
      const wanted = (outcomes.get(200) ?? 0) + more;
      await until(() => outcomes.size > 1 || (outcomes.get(200) ?? 0) >= wanted, `${more} more responses`);
    };
    try {
      await answered(50);
      const before = pid();
      process.kill(before, 'SIGTERM');
      await until(() => ![before, 0].includes(pid()), 'another process of the service');
      await answered(50);
    } finally {
      over = true;
    }
    await Promise.all(clients);
    expect([...outcomes.keys()]).toEqual([200]);
    writeFileSync(join(folder, 'stop'), '');
    process.kill(pid(), 'SIGTERM');
    expect(await once(supervisor!, 'exit')).toEqual([0, null]);
  });

  it('is not taken from the variables of a parent process', async () => {
    const parent = { LISTEN_PID: String(process.pid), LISTEN_FDS: '1' };
    await using service = await ServiceProcess.start(temporaryFolder(), parent);
    expect((await fetch(`${service.url}/cookies`)).status).toBe(401);
  });
});
