import { Logger } from '@nestjs/common';
import { createDatabase, describePostgres, dropDatabases } from '../support/engine.js';
import { Pooler } from '../support/postgres/pooler.js';
import { Client, COOKIE, type Service, startService } from '../support/service.js';

describePostgres('three replicas behind a pooler in transaction mode', () => {
  let pooler: Pooler;
  let replicas: Service[] = [];
  let clients: Client[];

  beforeAll(async () => {
    Logger.overrideLogger(false);
    pooler = await Pooler.start(await createDatabase(`pooler_${process.pid}`), 5);
    // All of them at once on an empty database: one migrates, the others wait for it.
    replicas = await Promise.all(
      [1, 2, 3].map(() => startService({ DATABASE_URL: pooler.url, COOKIES_CAPACITY: '25', DATABASE_POOL_SIZE: '8' })),
    );
    clients = await Promise.all(replicas.map((replica) => Client.of(replica)));
  });

  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await pooler.stop();
    await dropDatabases();
  });

  it('let exactly 25 of 200 racing POSTs in', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => clients[index % 3]!.post(COOKIE)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(25);
    expect(answers.filter(({ status }) => status === 507)).toHaveLength(175);
  });

  it('read, change, list and delete together', async () => {
    const list = await clients[0]!.get('/cookies');
    const paths = list.body.map(({ id }: { id: number }) => `/cookies/${id}`) as string[];
    const done = await Promise.all(
      paths.flatMap((path, index) => [
        clients[index % 3]!.get(path),
        clients[(index + 1) % 3]!.request('PATCH', path, { body: { size: 'large' } }),
        clients[(index + 2) % 3]!.get('/cookies?limit=3'),
      ]),
    );
    expect(done.map(({ status }) => status)).toEqual(paths.flatMap(() => [200, 204, 200]));
    const deleted = await Promise.all(paths.map((path, index) => clients[index % 3]!.request('DELETE', path)));
    expect(new Set(deleted.map(({ status }) => status))).toEqual(new Set([204]));
    expect((await clients[1]!.get('/cookies')).headers.get('x-total-count')).toBe('0');
  });

  it('use nothing that such a pooler does not support', () => {
    expect(pooler.faults).toEqual([]);
  });
});
