import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DynamicModule, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Cookie } from '../../src/cookies/cookie.entity.js';
import { COOKIE as COOKIE_RESOURCE } from '../../src/cookies/cookie.values.js';
import { CookiesModule } from '../../src/cookies/cookies.module.js';
import { CookiesService } from '../../src/cookies/cookies.service.js';
import { transaction } from '../../src/database/engine.js';
import { ApiError } from '../../src/http/errors/api-error.js';
import { ResourceModule } from '../../src/resource/resource.module.js';
import type { Rule } from '../../src/resource/resource.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import { UsageCounter } from '../../src/resource/usage/usage-counter.js';
import { CreateSamples1790000500000 } from '../samples/create-samples.js';
import { sampleBody, sampleValues } from '../samples/sample-body.js';
import { Sample, SAMPLE } from '../samples/sample.entity.js';
import { SamplesController } from '../samples/samples.module.js';
import { engineInUse } from '../support/engine.js';
import { type Answer, Client, COOKIE, sharedService } from '../support/service.js';

const ignore = (): void => undefined;
const onPostgres = engineInUse() === 'postgres' ? it : it.skip;

const MOST_OPEN = 3;
const MOST_OF_A_SMALL = 10;
/** The quantity at which the rules have a mistake. */
const MISTAKEN = 13;

function checkQuantity(quantity: number): void {
  if (quantity === MISTAKEN) throw new TypeError('Cannot read properties of undefined');
}

/** At most three samples of a cookie are open, and no sample has more than ten of a small cookie. */
const FOR_ONE: Rule<Sample> = {
  async check({ before, after: { cookieId, quantity } }, transaction) {
    checkQuantity(quantity);
    const [{ open } = { open: 0 }] = await transaction.sql<{ open: number }[]>`
      SELECT count(*) AS open FROM samples WHERE "cookieId" = ${cookieId} AND status = 'open'`;
    if (open > MOST_OPEN) throw tooManyOpen(cookieId);
    if (before !== undefined) await transaction.lock('cookies', before.cookieId);
    const cookie = await transaction.lock<{ size: string }>('cookies', cookieId);
    if (cookie?.size === 'small' && quantity > MOST_OF_A_SMALL) throw tooManySmall();
  },
};

/** The number of records in each call of `FOR_ALL`. */
const checked: number[] = [];

/** `FOR_ONE` in one statement for all records. */
const FOR_ALL: Rule<Sample> = {
  async checkAll(changes, transaction) {
    checked.push(changes.length);
    for (const { after } of changes) checkQuantity(after.quantity);
    const ids = [...new Set(changes.map(({ after }) => after.cookieId))];
    await transaction.lockAll(
      'cookies',
      changes.flatMap(({ before }) => before?.cookieId ?? []),
    );
    const [full] = await transaction.query<{ cookieId: number }[]>(
      `SELECT "cookieId" FROM samples WHERE status = 'open' AND "cookieId" IN (${ids.map(() => '?').join(', ')})
       GROUP BY "cookieId" HAVING count(*) > ${MOST_OPEN}`,
      ids,
    );
    if (full !== undefined) throw tooManyOpen(full.cookieId);
    const cookies = await transaction.lockAll<{ id: number; size: string }>('cookies', ids);
    const small = new Set(cookies.filter(({ size }) => size === 'small').map(({ id }) => id));
    if (changes.some(({ after }) => small.has(after.cookieId) && after.quantity > MOST_OF_A_SMALL))
      throw tooManySmall();
  },
};

const tooManyOpen = (cookieId: number): ApiError =>
  refused('TOO_MANY_OPEN', '/status', `cookie ${cookieId} has ${MOST_OPEN} open samples`);

const tooManySmall = (): ApiError =>
  refused('TOO_MANY_SMALL', '/quantity', `must be at most ${MOST_OF_A_SMALL} of a small cookie`);

const refused = (code: string, pointer: string, message: string): ApiError =>
  new ApiError(409, code, message, { details: [{ pointer, message }] });

function ruledSamples(rule: Rule<Sample>): DynamicModule {
  return {
    module: RuledSamplesModule,
    imports: [
      ResourceModule.forFeature({
        name: SAMPLE,
        entity: Sample,
        capacity: () => 1000,
        rule: () => Promise.resolve(rule),
      }),
      CookiesModule,
    ],
    controllers: [SamplesController],
  };
}

@Module({})
class RuledSamplesModule {}

describe.each([
  ['for one record', FOR_ONE],
  ['for all records', FOR_ALL],
])(`a rule of a resource, %s (${engineInUse()})`, (_form, rule) => {
  const migrations = [new CreateSamples1790000500000()];
  const { service } = sharedService({ LOG_LEVEL: 'silent' }, [ruledSamples(rule)], migrations);
  const client = Client.of(service, { scope: 'cookies:read cookies:write samples:read samples:write' });
  let cookieId: number;

  beforeEach(async () => {
    cookieId = (await client.post({ ...COOKIE, size: 'large' })).body.id;
  });

  const sample = (properties: object = {}) => sampleBody({ cookieId, quantity: 1, ...properties });
  const post = (properties?: object): Promise<Answer> =>
    client.request('POST', '/samples', { body: sample(properties) });
  const list = () => client.get(`/samples?cookieId=${cookieId}`);
  const stored = async (count: number): Promise<Answer[]> => {
    const answers: Answer[] = [];
    for (let index = 0; index < count; index++) answers.push(await post());
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    return answers;
  };

  it('undoes a POST that breaks it, and its error is the response', async () => {
    await stored(MOST_OPEN);
    const before = await list();
    const message = `cookie ${cookieId} has 3 open samples`;
    expect(await post()).toMatchObject({
      status: 409,
      body: { errorCode: 'TOO_MANY_OPEN', message, details: [{ pointer: '/status', message }] },
    });
    const after = await list();
    expect([after.headers.get('etag'), after.text]).toEqual([before.headers.get('etag'), before.text]);
    expect((await post({ status: 'paid' })).status).toBe(201);
  });

  it.each(['PUT', 'PATCH'])('undoes a %s that breaks it', async (method) => {
    await stored(MOST_OPEN);
    const { body: paid, headers } = await post({ status: 'paid' });
    const path = `/samples/${paid.id}`;
    const change = (body: object, ifMatch?: string) =>
      client.request(method, path, {
        body: method === 'PUT' ? sample(body) : body,
        headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
      });
    expect(await change({ status: 'open' })).toMatchObject({ status: 409, body: { errorCode: 'TOO_MANY_OPEN' } });
    expect((await client.get(path)).headers.get('etag')).toBe(headers.get('etag'));
    expect((await change({ status: 'paid', points: 3 })).status).toBeLessThan(300);
    // The precondition is checked before the rule.
    expect((await change({ status: 'open' }, headers.get('etag')!)).status).toBe(412);
  });

  it('holds for concurrent writes, and rejects no valid one', async () => {
    const other = (await client.post({ ...COOKIE, size: 'large' })).body.id as number;
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, index) => post(index % 2 === 0 ? {} : { cookieId: other, status: 'paid' })),
    );
    const statuses = (isOther: boolean) =>
      answers.filter((_, index) => (index % 2 === 1) === isOther).map(({ status }) => status);
    expect(statuses(false).filter((status) => status === 201)).toHaveLength(MOST_OPEN);
    expect(statuses(false).filter((status) => status === 409)).toHaveLength(32 - MOST_OPEN);
    expect(statuses(true)).toEqual(statuses(true).map(() => 201));
    expect((await list()).body).toHaveLength(MOST_OPEN);
    const all = await client.get('/samples');
    expect(all.body).toHaveLength(Number(all.headers.get('x-total-count')));
  });

  const recordOf = (properties: object = {}) => sampleValues({ cookieId, quantity: 1, ...properties });
  const samples = () => service.app.get<ResourceRepository<Sample>>('SampleResourceRepository', { strict: false });

  const createTogether = (bodies: object[]) => {
    return Promise.allSettled(bodies.map((body) => samples().create(recordOf(body))));
  };

  it('with a mistake in its code fails only the write that meets it', async () => {
    const results = await createTogether([{}, { quantity: MISTAKEN }, {}]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('rejects only the invalid one of writes that share a transaction', async () => {
    const results = await createTogether(
      Array.from({ length: 8 }, (_, index) => ({ status: index % 2 === 0 ? 'open' : 'paid' })),
    );
    const rejected = results.filter(({ status }) => status === 'rejected');
    expect(rejected).toMatchObject([{ reason: { errorCode: 'TOO_MANY_OPEN' } }]);
    expect((await list()).body).toHaveLength(7);
  });

  it('runs once for all POSTs that share a transaction, if it is a rule for all', async () => {
    checked.length = 0;
    const answers = await Promise.all(Array.from({ length: 64 }, () => post({ status: 'paid' })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(checked.length).toBeLessThan(rule === FOR_ALL ? 32 : 1);
    if (rule === FOR_ALL) expect(checked.reduce((sum, count) => sum + count)).toBe(64);
  });

  it('sees the change of another transaction to the record of another resource that it locks', async () => {
    const cookies = service.app.get(CookiesService, { strict: false }).records;
    let posted: Promise<Answer> | undefined;
    await transaction(service.app.get(DataSource), async (tx) => {
      await cookies.in(tx).update(cookieId, { size: 'small' });
      posted ??= post({ quantity: 11 });
      // Meanwhile the POST reaches the lock.
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    expect(await posted).toMatchObject({ status: 409, body: { errorCode: 'TOO_MANY_SMALL' } });
  });

  it('holds for a transaction of the service, which is undone as a whole, also if its code catches the error', async () => {
    await stored(MOST_OPEN);
    const cookies = service.app.get(CookiesService, { strict: false }).records;
    const count = (await client.get('/cookies?limit=1')).headers.get('x-total-count');
    for (const onError of [undefined, ignore]) {
      const work = transaction(service.app.get(DataSource), async (tx) => {
        await cookies.in(tx).create(COOKIE);
        await samples().in(tx).create(recordOf()).catch(onError);
      });
      await expect(work).rejects.toMatchObject({ errorCode: 'TOO_MANY_OPEN' });
    }
    expect((await client.get('/cookies?limit=1')).headers.get('x-total-count')).toBe(count);
  });

  it('holds for a record before a rejected createMany of the same transaction, if its code catches both errors', async () => {
    await stored(MOST_OPEN);
    const work = transaction(service.app.get(DataSource), async (tx) => {
      await samples().in(tx).create(recordOf()).catch(ignore);
      await samples()
        .in(tx)
        .createMany([recordOf({ cookieId: 999_999 })])
        .catch(ignore);
    });
    await expect(work).rejects.toMatchObject({ errorCode: 'TOO_MANY_OPEN' });
  });

  it('undoes only a rejected createMany of a transaction, if its code catches the error', async () => {
    await stored(MOST_OPEN);
    const many = [recordOf({ status: 'paid' }), recordOf()];
    const { record } = await transaction(service.app.get(DataSource), async (tx) => {
      await expect(samples().in(tx).createMany(many)).rejects.toMatchObject({ errorCode: 'TOO_MANY_OPEN' });
      return samples()
        .in(tx)
        .create(recordOf({ status: 'paid' }));
    });
    const ids: string[] = (await list()).body.map(({ id }: { id: string }) => id);
    expect([ids.length, ids.includes(record.id)]).toEqual([MOST_OPEN + 1, true]);
  });

  onPostgres(
    'that locks a parent does not deadlock with a transaction that writes the parent, then a record',
    async () => {
      const cookies = service.app.get('CookieResourceRepository', { strict: false });
      const { body: other } = await client.post(COOKIE);
      const { record } = await samples().create(recordOf({ status: 'paid', cookieId: other.id }));
      for (const write of [
        () => samples().create(recordOf({ status: 'paid' })),
        () => samples().update(record.id, { cookieId }),
        // Its parent stays, and the rule locks it all the same.
        () => samples().update(record.id, { quantity: 2 }),
        // The rule locks its earlier parent, too.
        () => samples().update(record.id, { cookieId: other.id }),
        () =>
          transaction(service.app.get(DataSource), (tx) =>
            samples()
              .in(tx)
              .createMany([recordOf({ status: 'paid' })]),
          ),
      ]) {
        let runs = 0;
        let written: Promise<unknown> | undefined;
        await transaction(service.app.get(DataSource), async (tx) => {
          runs++;
          await tx.sql`SET LOCAL deadlock_timeout = '50ms'`;
          await cookies.in(tx).update(cookieId, { wish: `run ${runs}` });
          written ??= write();
          await sleep(200);
          await samples()
            .in(tx)
            .create(recordOf({ status: 'paid' }));
        });
        await written;
        expect(runs).toBe(1);
      }
    },
  );

  it('holds for a write by another rule, if that rule catches the error', async () => {
    await stored(MOST_OPEN);
    const rule: Rule<Cookie> = {
      check: async (_change, tx) => void (await samples().in(tx).create(recordOf()).catch(ignore)),
    };
    const rows = service.app.get(DataSource).getRepository(Cookie);
    const cookies = new ResourceRepository(COOKIE_RESOURCE, rows, new UsageCounter('cookies', 100), undefined, rule);
    await expect(cookies.create(COOKIE)).rejects.toMatchObject({ errorCode: 'TOO_MANY_OPEN' });
  });

  it('for one record runs in the async context of its caller, also for records that share a transaction', async () => {
    const callers = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const rule: Rule<Cookie> = {
      check: ({ after }) => Promise.resolve(void seen.push([after.wish, callers.getStore()])),
    };
    const rows = service.app.get(DataSource).getRepository(Cookie);
    const cookies = new ResourceRepository(COOKIE_RESOURCE, rows, new UsageCounter('cookies', 100), undefined, rule);
    const names = ['alice', 'bob', 'carol'];
    await Promise.all(names.map((wish) => callers.run(wish, () => cookies.create({ ...COOKIE, wish }))));
    expect(seen).toEqual(names.map((name) => [name, name]));
  });
});
