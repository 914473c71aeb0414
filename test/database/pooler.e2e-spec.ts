import { createDatabase, describePostgres } from '../support/engine.js';
import { Pooler } from '../support/postgres/pooler.js';
import { Client, COOKIE, type Service, startService } from '../support/service.js';

describePostgres('three replicas behind a pooler in transaction mode', () => {
  let pooler: Pooler;
  let replicas: Service[] = [];
  let clients: Client[];

  beforeAll(async () => {
    pooler = await Pooler.start(await createDatabase(`pooler_${process.pid}`), 5);
    // All replicas start together on an empty database: one migrates, and the others wait.
    replicas = await Promise.all(
      [1, 2, 3].map(() => startService({ DATABASE_URL: pooler.url, COOKIES_CAPACITY: '25', DATABASE_POOL_SIZE: '8' })),
    );
    clients = replicas.map((replica) => Client.of(replica));
  });

  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await pooler.stop();
  });

  it('accept exactly 25 of 200 racing POSTs', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => clients[index % 3]!.post(COOKIE)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(25);
    expect(answers.filter(({ status }) => status === 507)).toHaveLength(175);
    expect(new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id)).size).toBe(25);
    for (const client of clients) expect((await client.get('/cookies')).headers.get('x-total-count')).toBe('25');
  });

  it('GET returns the write of another replica, also in the ETag of the list', async () => {
    const [writer, reader] = clients as [Client, Client];
    const { headers, body } = await reader.get('/cookies');
    const { id } = body[0] as { id: number };
    const again = () => reader.get('/cookies', { 'if-none-match': headers.get('etag')! });
    expect((await again()).status).toBe(304);
    expect((await writer.request('DELETE', `/cookies/${id}`)).status).toBe(204);
    expect((await again()).status).toBe(200);
    expect((await reader.get(`/cookies/${id}`)).status).toBe(404);
  });

  it('PATCH with If-Match is 204 for one and 412 for all others that change the same version together', async () => {
    const { body } = await clients[0]!.get('/cookies?limit=1');
    const path = `/cookies/${body[0].id}`;
    for (const flavor of ['cinnamon', 'chocolate', 'vanilla', 'cinnamon']) {
      const etag = (await clients[0]!.get(path)).headers.get('etag')!;
      const change = { body: { flavor }, headers: { 'if-match': etag } };
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) => clients[index % 3]!.request('PATCH', path, change)),
      );
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([204, ...Array<number>(11).fill(412)]);
    }
  });

  it('use nothing that the pooler does not support', () => {
    expect(pooler.faults).toEqual([]);
  });
});
