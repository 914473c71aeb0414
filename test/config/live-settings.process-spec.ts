import { run } from '../support/command.js';
import { Client, COOKIE, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { sendAlone } from '../support/workers/workers.js';

/** Milliseconds in which a change must reach every process. */
const REACH = 5000;

describe('a process', () => {
  it('has the values of cli set after kill -9 and a restart, and says so, whatever its environment', async () => {
    const folder = temporaryFolder();
    const first = await ServiceProcess.start(folder, { COOKIES_CAPACITY: '5' });
    expect(await run(folder, ['set', 'MAINTENANCE=true', 'COOKIES_CAPACITY=2'])).toMatchObject({ code: 0 });
    await first.end('SIGKILL');
    await using second = await ServiceProcess.start(folder, { COOKIES_CAPACITY: '5' });
    const client = await Client.of(second);
    expect((await client.post(COOKIE)).body).toMatchObject({ errorCode: 'MAINTENANCE' });
    expect(second.output).toMatch(/In force: +MAINTENANCE=true, set 20\S+Z by /);
    expect(second.output).toContain('capacity: cookies 2)');
    await run(folder, ['set', '--unset', 'MAINTENANCE']);
    await second.printed('MAINTENANCE is unset; the environment counts again', REACH);
    expect((await client.post(COOKIE)).status).toBe(201);
    expect((await client.post(COOKIE)).status).toBe(201);
    expect((await client.post(COOKIE)).status).toBe(507);
  });

  it('with two workers changes the log level and maintenance of each, and of the primary', async () => {
    const folder = temporaryFolder();
    await using workers = await ServiceProcess.start(folder, { WORKERS: '2' });
    await run(folder, ['set', 'LOG_LEVEL=silent', 'MAINTENANCE=true']);
    const areRejected = async (): Promise<boolean> => {
      const sent = Array.from({ length: 10 }, () => sendAlone(workers, { method: 'POST' }));
      return (await Promise.all(sent)).every(({ status }) => status === 503);
    };
    await until(areRejected, 'maintenance in both workers', REACH);
    const silentSince = new Date().toISOString();
    expect(await areRejected()).toBe(true);
    expect(await workers.end()).toBe(0);
    expect(workers.lines.filter(({ time }) => String(time) > silentSince)).toEqual([]);
  });
});
