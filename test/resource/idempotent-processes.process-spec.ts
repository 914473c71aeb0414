import { rmSync } from 'node:fs';
import { DataSource } from 'typeorm';
import { databaseUrlFor, engineInUse } from '../support/engine.js';
import { type Answer, Client, COOKIE, type Service, startService, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

const KEYS = 40;

const post = (client: Client, key: string): Promise<Answer> =>
  client.post({ ...COOKIE, wish: key }, { 'idempotency-key': key });

describe(`Idempotency-Key at two services on one database (${engineInUse()})`, () => {
  const services: Service[] = [];
  let clients: Client[];

  beforeAll(async () => {
    services.push(await startService());
    services.push(await startService({ DATABASE_URL: databaseUrlFor(services[0]!.folder) }));
    clients = services.map((service) => Client.of(service));
  });

  afterAll(async () => {
    for (const service of services.reverse()) await service.stop();
  });

  const stored = async (): Promise<{ wish: string; id: number }[]> =>
    services[0]!.app.get(DataSource).query('SELECT wish, id FROM cookies ORDER BY wish');

  it('makes one record for each key, and the first response or 409 for every repetition', async () => {
    const names = Array.from({ length: KEYS }, (_, index) => `racing-${String(index).padStart(3, '0')}`);
    const answers = await Promise.all(
      names.map((name) => Promise.all([...clients, ...clients].map((client) => post(client, name)))),
    );
    const statuses = answers.flat().map(({ status }) => status);
    expect(statuses.filter((status) => status !== 201 && status !== 409)).toEqual([]);
    const records = await stored();
    expect(records).toHaveLength(KEYS);
    for (const [index, each] of answers.entries()) {
      const created = each.filter(({ status }) => status === 201);
      expect(new Set(created.map(({ body }) => body.id))).toEqual(new Set([records[index]!.id]));
      expect(created.filter(({ headers }) => !headers.has('idempotency-replayed'))).toHaveLength(1);
    }
  });

  it('lets the other service replay, also where the storage is full and the first one took the last place', async () => {
    const source = services[0]!.app.get(DataSource);
    for (let round = 0; round < 5; round++) {
      await source.query("UPDATE storage SET capacity = used + 1 WHERE resource = 'cookies'");
      const answers = await Promise.all(clients.map((client) => post(client, `last-${round}`)));
      expect(answers.map(({ status }) => status)).toEqual([201, 201]);
      expect(answers[0]!.text).toBe(answers[1]!.text);
    }
  });
});

describe(`Idempotency-Key after kill -9 (${engineInUse()})`, () => {
  it('makes one record of each POST that is sent again', async () => {
    const folder = temporaryFolder();
    let service = await ServiceProcess.start(folder);
    try {
      const names = Array.from({ length: 60 }, (_, index) => `killed-${String(index).padStart(3, '0')}`);
      const client = Client.of(service);
      const kept = await post(client, 'kept');
      const attempts = names.map((name) => post(client, name).catch(() => undefined));
      await Promise.any(
        attempts.map(async (attempt) => (await attempt)?.status === 201 || Promise.reject(new Error())),
      );
      await service.end('SIGKILL');
      const before = await Promise.all(attempts);
      expect(before).toContain(undefined);
      service = await ServiceProcess.start(folder);
      const again = Client.of(service);
      const repeated = await post(again, 'kept');
      expect([repeated.text, repeated.headers.get('idempotency-replayed')]).toEqual([kept.text, 'true']);
      const after = await Promise.all(names.map((name) => post(again, name)));
      expect(after.map(({ status }) => status)).toEqual(names.map(() => 201));
      for (const [index, answer] of before.entries()) if (answer) expect(after[index]!.text).toBe(answer.text);
      const { body: list } = await again.get('/cookies');
      expect(list.map(({ wish }: { wish: string }) => wish).sort()).toEqual([...names, 'kept'].sort());
    } finally {
      await service.end();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
