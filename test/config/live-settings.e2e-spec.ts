import { setTimeout as sleep } from 'node:timers/promises';
import { Module, type OnModuleInit } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { type StatementEvent, statements } from '../../src/database/database-events.js';
import { transaction } from '../../src/database/engine.js';
import { LiveConfig } from '../../src/database/polling/live-config.js';
import { run } from '../support/command.js';
import { databaseUrlFor, engineInUse } from '../support/engine.js';
import { metricsOf } from '../support/metrics.js';
import { type Answer, Client, COOKIE, type Service, sharedService, startService } from '../support/service.js';
import { until } from '../support/until.js';

/** Milliseconds in which a change must reach every process. */
const REACH = 5000;

describe('cli set, with two services on one database', () => {
  const settings = { COOKIES_CAPACITY: '3' };
  const { service: first } = sharedService(settings);
  const { service: second } = sharedService(() => ({ ...settings, DATABASE_URL: databaseUrlFor(first.folder) }));
  const services = [first, second] as const;
  const clients = services.map((service) => Client.of(service));

  const set = (...args: string[]) => run(services[0].folder, ['set', ...args]);

  async function change(...args: string[]): Promise<void> {
    expect(await set(...args)).toMatchObject({ code: 0, stderr: '' });
  }

  async function everywhere(send: (client: Client) => Promise<Answer>, expected: (answer: Answer) => boolean) {
    for (const client of clients) {
      let last: Answer | undefined;
      const isReached = async (): Promise<boolean> => expected((last = await send(client)));
      await until(isReached, () => `it is ${last?.status}: ${last?.text}`, REACH);
    }
  }

  const statusOf = (send: (client: Client) => Promise<Answer>, status: number) =>
    everywhere(send, (answer) => answer.status === status);

  const put = (client: Client) => client.request('PUT', '/cookies/999', { body: { flavor: 'vanilla', size: 'small' } });

  it('MAINTENANCE=true rejects writes with 503 and Retry-After, and reads go on, until it is unset', async () => {
    await statusOf(put, 404);
    await change('MAINTENANCE=true');
    await statusOf(put, 503);
    for (const client of clients) {
      const answer = await client.post(COOKIE);
      expect(answer.body).toMatchObject({ statusCode: 503, errorCode: 'MAINTENANCE' });
      expect(answer.headers.get('retry-after')).toBe('30');
      for (const method of ['PATCH', 'DELETE']) {
        expect((await client.request(method, '/cookies/1', { body: {} })).status).toBe(503);
      }
      expect((await client.post('{')).status).toBe(503);
      expect((await client.get('/cookies')).status).toBe(200);
      expect((await client.request('HEAD', '/cookies')).status).toBe(200);
      expect((await client.request('OPTIONS', '/cookies')).status).toBe(204);
    }
    for (const service of services) {
      expect((await Client.bearing(service).post(COOKIE)).status).toBe(401);
      const reader = Client.of(service, { scope: 'cookies:read' });
      expect((await reader.post(COOKIE)).status).toBe(403);
      expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
    }
    expect(await run(services[0].folder, ['import', 'cookies'], { input: JSON.stringify(COOKIE) })).toMatchObject({
      code: 0,
    });
    await change('--unset', 'MAINTENANCE');
    await statusOf(put, 404);
    await statusOf((client) => client.request('DELETE', '/cookies/999'), 404);
  });

  it('COOKIES_CAPACITY=... changes the capacity for POST, import, doctor and the metric, and --unset changes it back', async () => {
    const path = (await clients[0]!.get('/cookies')).body as { id: number }[];
    for (const { id } of path) await clients[0]!.request('DELETE', `/cookies/${id}`);
    await change('COOKIES_CAPACITY=1');
    const series = 'storage_capacity_records{resource="cookies"}';
    const capacityIs = async (capacity: number): Promise<void> => {
      for (const service of services) {
        await until(async () => (await metricsOf(service)).get(series) === capacity, `capacity ${capacity}`, REACH);
      }
    };
    await capacityIs(1);
    expect((await clients[0]!.post(COOKIE)).status).toBe(201);
    for (const client of clients) expect((await client.post(COOKIE)).status).toBe(507);
    const imported = await run(services[0].folder, ['import', 'cookies'], { input: JSON.stringify(COOKIE) });
    expect(imported).toMatchObject({ code: 1, stderr: expect.stringContaining('0 of 1 places are free') });
    // The import has not written the capacity of its environment.
    for (const client of clients) expect((await client.post(COOKIE)).status).toBe(507);
    const doctor = await run(services[0].folder, ['doctor']);
    expect(doctor.stdout).toContain('1 cookies of 1');
    expect(doctor.stdout).toMatch(/ok +set +COOKIES_CAPACITY=1, set 20\S+Z by \S+@\S+: these override the environment/);
    await change('COOKIES_CAPACITY=0');
    const check = await run(services[0].folder, ['migrate', '--check-capacity']);
    expect(check.stderr).toMatch(/COOKIES_CAPACITY is 0, and 1 cookies .* set --unset COOKIES_CAPACITY\. Nothing was/);
    // The triggers may be those of a newer version, so only a start and doctor make them.
    const table = engineInUse() === 'sqlite' ? '' : 'ON cookies';
    await services[0].app.get<DataSource>(getDataSourceToken()).query(`DROP TRIGGER cookies_delete ${table}`);
    await change('--unset', 'COOKIES_CAPACITY');
    await capacityIs(3);
    expect((await run(services[0].folder, ['doctor'])).stdout).toContain('missing or outdated');
    expect(await run(services[0].folder, ['doctor', '--fix'])).toMatchObject({ code: 0 });
    for (const client of clients) expect((await client.post(COOKIE)).status).toBe(201);
    expect((await clients[1]!.post(COOKIE)).status).toBe(507);
  });

  it('RATE_LIMIT_... begins, changes and ends limits, which keep their counts, and a shorter window ends those that run', async () => {
    await change('RATE_LIMIT_SUBJECT_READ=1000', 'RATE_LIMIT_SUBJECT_LIST=2');
    const policy = (value: RegExp | undefined) => (answer: Answer) => {
      const field = answer.headers.get('ratelimit-policy');
      return value === undefined ? field === null : value.test(field ?? '');
    };
    const read = (client: Client) => client.get('/cookies/999');
    const readerOf = (service: Service) => Client.of(service, { subject: 'reader of lists' });
    await everywhere(read, policy(/^"subject-read";q=1000;w=60$/));
    for (const service of services) {
      const client = readerOf(service);
      const statuses = [];
      for (let sent = 0; sent < 3; sent++) statuses.push((await client.get('/cookies')).status);
      expect(statuses).toEqual([200, 200, 429]);
    }
    await change('RATE_LIMIT_SUBJECT_READ=500');
    await everywhere(read, policy(/^"subject-read";q=500;w=60$/));
    for (const service of services) expect((await readerOf(service).get('/cookies')).status).toBe(429);
    await change('RATE_LIMIT_WINDOW=1');
    for (const service of services) {
      const client = readerOf(service);
      const isAccepted = async (): Promise<boolean> => (await client.get('/cookies')).status === 200;
      await until(isAccepted, () => 'the window of 60 s goes on', 2 * REACH);
    }
    await change('--unset', 'RATE_LIMIT_SUBJECT_READ', 'RATE_LIMIT_SUBJECT_LIST', 'RATE_LIMIT_WINDOW');
    await everywhere(read, policy(undefined));
  });

  it('a change reaches a listener that is still handling the earlier values', async () => {
    const live = services[0].app.get(LiveConfig, { strict: false });
    const limits: (number | undefined)[] = [];
    await live.onChange(async () => {
      limits.push(live.current.rateLimit.inProgress);
      if (limits.length > 1) return;
      await change('RATE_LIMIT_IN_PROGRESS=1000');
      await until(() => Promise.resolve(live.current.rateLimit.inProgress === 1000), 'the change', REACH);
    });
    expect(limits).toEqual([undefined, 1000]);
    await change('--unset', 'RATE_LIMIT_IN_PROGRESS');
  });

  it('--list and the metric show each value, its time, and who set it', async () => {
    const before = Date.now();
    await change('LOG_LEVEL=fatal');
    const { stdout } = await set('--list');
    const [, changed, by] = /^LOG_LEVEL=fatal, set (\S+) by (\S+)$/m.exec(stdout)!;
    expect(Date.parse(changed!)).toBeGreaterThanOrEqual(before);
    if (engineInUse() === 'postgres') expect(by).toMatch(new RegExp(`^${new URL(databaseUrlFor('')).username}@`));
    expect(stdout).toContain('MAINTENANCE=false, by the environment of this command');
    expect(stdout).toContain('RATE_LIMIT_IN_PROGRESS has no value');
    for (const service of services) {
      const series = 'setting_in_force_timestamp_seconds{name="LOG_LEVEL",value="fatal",source="database"}';
      const since = async () => (await metricsOf(service)).get(series);
      await until(async () => (await since()) !== undefined, 'the metric', REACH);
      expect(await since()).toBe(Date.parse(changed!) / 1000);
      const others = [...(await metricsOf(service)).keys()].filter((name) => name.includes('name="MAINTENANCE"'));
      expect(others).toEqual([
        'setting_in_force_timestamp_seconds{name="MAINTENANCE",value="false",source="environment"}',
      ]);
    }
    await change('--unset', 'LOG_LEVEL');
  });

  it('with wrong values among others names each, and changes nothing', async () => {
    const { code, stderr } = await set('MAINTENANCE=true', 'LOG_LEVEL=loud', 'COOKIES_CAPACITY=many');
    expect(code).toBe(2);
    expect(stderr).toMatch(/LOG_LEVEL must[^]*COOKIES_CAPACITY must[^]*Nothing was changed/);
    expect((await set('--list')).stdout).toContain('MAINTENANCE=false, by the environment');
  });

  it('a row with a wrong value, or of another version, is ignored, doctor says so, and --unset removes it', async () => {
    const source = services[0].app.get<DataSource>(getDataSourceToken(), { strict: false });
    await transaction(
      source,
      (sql) => sql.sql`INSERT INTO live_settings (name, value, changed, changed_by)
        VALUES ('LOG_LEVEL', 'loud', 9223372036854775807, 'hand'), ('OF_LATER', '1', 1, 'hand'),
          ('MAINTENANCE', 'false', 1790000000000000000, 'hand')`,
    );
    await change('RATE_LIMIT_SUBJECT_READ=77');
    await everywhere(
      (client) => client.get('/cookies/999'),
      ({ headers }) => headers.get('ratelimit-policy')?.includes('q=77') === true,
    );
    const doctor = await run(services[0].folder, ['doctor']);
    expect(doctor.stdout).toMatch(/FAIL +set +LOG_LEVEL must be one of .*; OF_LATER cannot be set/);
    expect((await set('--list')).stdout).toContain('MAINTENANCE=false, set null by hand');
    await change('--unset', 'LOG_LEVEL', 'MAINTENANCE', 'OF_LATER', 'RATE_LIMIT_SUBJECT_READ');
    expect((await run(services[0].folder, ['doctor'])).stdout).toMatch(/ok +set +nothing is set/);
  });

  it('a listener that rejects a change is logged once, with the name of the table and no values', async () => {
    const warnings: unknown[] = [];
    services[0].app.useLogger({ log: () => {}, error: () => {}, warn: (text: unknown) => warnings.push(text) });
    let calls = 0;
    await services[0].app.get(LiveConfig, { strict: false }).onChange(() => {
      if (++calls > 1) throw new Error('It is broken');
    });
    await change('RATE_LIMIT_IN_PROGRESS=1000');
    await until(() => calls > 2, 'two polls', 2 * REACH);
    expect(warnings).toEqual(['Changes of live_settings cannot be read: It is broken']);
  });
});

it('a start that fails reads no settings afterwards, and never deletes expired keys', async () => {
  @Module({})
  class FailingModule implements OnModuleInit {
    onModuleInit(): void {
      throw new Error('This module cannot start');
    }
  }
  const sent: string[] = [];
  const onStatement = (message: unknown) => void sent.push((message as StatementEvent).sql);
  statements.subscribe(onStatement);
  await expect(startService({ LOG_LEVEL: 'silent' }, [FailingModule])).rejects.toThrow('This module cannot start');
  const atFailure = sent.length;
  await sleep(REACH / 2);
  statements.unsubscribe(onStatement);
  expect(sent.slice(atFailure)).toEqual([]);
  expect(sent.filter((sql) => sql.includes('idempotency_keys WHERE expires'))).toEqual([]);
});
