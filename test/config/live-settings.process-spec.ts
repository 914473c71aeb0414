import { run } from '../support/command.js';
import { Client, COOKIE, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { sendAlone } from '../support/workers/workers.js';

/** Milliseconds in which a change must reach every process. */
const REACH = 5000;

it('the values of cli set are in force after kill -9 and a restart, whatever the environment, and reach each of two workers and the primary', async () => {
  const folder = temporaryFolder();
  const first = await ServiceProcess.start(folder, { COOKIES_CAPACITY: '5' });
  expect(await run(folder, ['set', 'MAINTENANCE=true', 'COOKIES_CAPACITY=2'])).toMatchObject({ code: 0 });
  await first.end('SIGKILL');
  await using second = await ServiceProcess.start(folder, { COOKIES_CAPACITY: '5', WORKERS: '2' });
  const client = Client.of(second);
  expect((await client.post(COOKIE)).body).toMatchObject({ errorCode: 'MAINTENANCE' });
  expect(second.output).toMatch(/In force: +MAINTENANCE=true, set 20\S+Z by /);
  expect(second.output).toContain('capacity: cookies 2)');
  const post = async (): Promise<number[]> => {
    const sent = Array.from({ length: 10 }, () => sendAlone(second, { method: 'POST' }));
    return (await Promise.all(sent)).map(({ status }) => status);
  };

  await run(folder, ['set', '--unset', 'MAINTENANCE']);
  await second.printed('MAINTENANCE is unset; the environment is in force again', REACH);
  await until(async () => !(await post()).includes(503), 'writes in both workers', REACH);
  expect((await client.get('/cookies')).headers.get('x-total-count')).toBe('2');
  expect((await client.post(COOKIE)).status).toBe(507);

  await run(folder, ['set', 'LOG_LEVEL=silent', 'MAINTENANCE=true']);
  await until(async () => (await post()).every((status) => status === 503), 'maintenance in both workers', REACH);
  const silentSince = new Date().toISOString();
  expect(await post()).toEqual(Array(10).fill(503));
  expect(await second.end()).toBe(0);
  expect(second.lines.filter(({ time }) => String(time) > silentSince)).toEqual([]);
});
