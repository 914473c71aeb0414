import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { SchedulerRegistry } from '@nestjs/schedule';
import { CreateOutings1790000400000 } from '../outings/create-outings.js';
import { ClosingModule } from '../outings/closing.module.js';
import { OutingsModule } from '../outings/outings.module.js';
import { OutingsService } from '../outings/outings.service.js';
import { PageQuery } from '../../src/resource/store/page-query.js';
import { RecordScope } from '../../src/resource/store/selection.js';
import { engineInUse } from '../support/engine.js';
import { follow, ids as idsOf } from '../support/resource/pages.js';
import { type Answer, Client, sharedService, startService } from '../support/service.js';

const SCOPE = 'sleighs:write outings:read outings:write';

let hours = 0;

/** An hour that no other outing uses. */
function period() {
  const start = Date.UTC(2030, 0, 1, ++hours);
  return { startsAt: new Date(start), endsAt: new Date(start + 3_600_000) };
}

/** A resource with rules beyond CRUD, as `docs/extending.md` shows them. */
describe(`sleighs and outings (${engineInUse()})`, () => {
  const modules = [OutingsModule, ClosingModule];
  const { service } = sharedService({ LOG_LEVEL: 'silent' }, modules, [new CreateOutings1790000400000()]);
  const alice = Client.of(service, { scope: SCOPE });
  const bob = Client.of(service, { scope: SCOPE, subject: 'bob' });
  const purge = () => service.app.get(SchedulerRegistry, { strict: false }).getCronJob('purge');
  let sleighId: number;

  // Between 3 and 4 o'clock in Berlin the job would run beside the tests.
  beforeAll(() => purge().stop());

  beforeEach(async () => {
    sleighId = (await alice.request('POST', '/sleighs', { body: { seats: 4 } })).body.id;
  });

  const outings = () => service.app.get(OutingsService, { strict: false });
  const etagOf = ({ headers }: Answer): string => headers.get('etag')!;
  const book = (guests = 2, client = alice, sleigh = sleighId, times: object = period()): Promise<Answer> =>
    client.request('POST', '/outings', { body: { sleighId: sleigh, guests, ...times } });
  const act = (id: number, action: string, headers?: Record<string, string>): Promise<Answer> =>
    alice.request('POST', `/outings/${id}/${action}`, { headers });

  describe('an action', () => {
    it('returns 200 with the record and its ETag, and an equal response the second time', async () => {
      const { body: outing } = await book();
      const first = await act(outing.id, 'cancel');
      expect(first).toMatchObject({ status: 200, body: { ...outing, status: 'cancelled' } });
      const list = await alice.get('/outings');
      const second = await act(outing.id, 'cancel');
      expect([second.status, second.text, etagOf(second)]).toEqual([200, first.text, etagOf(first)]);
      expect(etagOf(await alice.get(`/outings/${outing.id}`))).toBe(etagOf(first));
      expect((await alice.get('/outings', { 'if-none-match': etagOf(list) })).status).toBe(304);
    });

    it('returns 404 for an unknown record, and 400 for an id or a parameter that is wrong', async () => {
      expect(await act(999_999, 'cancel')).toMatchObject({ status: 404, body: { errorCode: 'OUTING_NOT_FOUND' } });
      expect((await act(0, 'cancel')).status).toBe(400);
      expect((await alice.request('POST', '/outings/1/cancel?force=true')).status).toBe(400);
    });

    it('returns 412 before the error of its rule, which is 409 and changes nothing', async () => {
      const { body } = await book();
      await outings().records.update(body.id, { status: 'seated' });
      const before = await alice.get(`/outings/${body.id}`);
      const stale = { 'if-match': '"stale"' };
      expect((await act(body.id, 'cancel', stale)).status).toBe(412);
      expect(await act(body.id, 'cancel', { 'if-match': etagOf(before) })).toMatchObject({
        status: 409,
        body: { errorCode: 'ALREADY_SEATED', message: `The guests of outing ${body.id} are seated` },
      });
      const after = await alice.get(`/outings/${body.id}`);
      expect([after.text, etagOf(after)]).toEqual([before.text, etagOf(before)]);
    });

    it('fails alone among actions that share a commit', async () => {
      const ids: number[] = [];
      for (let count = 0; count < 6; count++) ids.push((await book()).body.id);
      await outings().records.update(ids[2]!, { status: 'seated' });
      const results = await Promise.allSettled(ids.map((id) => outings().cancel(id)));
      expect(results.map(({ status }) => status === 'fulfilled')).toEqual(ids.map((id) => id !== ids[2]));
      expect(results[2]).toMatchObject({ reason: { errorCode: 'ALREADY_SEATED' } });
    });

    it('checks the stored record under concurrent changes', async () => {
      const { body } = await book();
      const increase = () => outings().records.update(body.id, ({ guests }) => ({ guests: guests + 1 }));
      await Promise.all(Array.from({ length: 64 }, increase));
      expect((await alice.get(`/outings/${body.id}`)).body.guests).toBe(66);
    });
  });

  describe('a rule over instants', () => {
    const at = (from: string, to: string) => ({ startsAt: `2026-03-29T${from}`, endsAt: `2026-03-29T${to}` });
    const taken = { status: 409, body: { errorCode: 'SLEIGH_TAKEN', details: [{ pointer: '/startsAt' }] } };

    it('makes POST and PATCH 409 for a sleigh that is taken at that time, in whichever zone it is written', async () => {
      const { body } = await book(2, alice, sleighId, at('01:30:00+01:00', '03:30:00+02:00'));
      for (const times of [
        at('00:30:00Z', '00:31:00Z'),
        at('01:29:59.999Z', '02:00:00Z'),
        at('00:00:00Z', '04:00:00Z'),
      ])
        expect(await book(2, alice, sleighId, times)).toMatchObject(taken);
      const before = await book(2, alice, sleighId, at('00:00:00Z', '00:30:00Z'));
      const after = await book(2, alice, sleighId, at('01:30:00Z', '02:00:00Z'));
      expect([before.status, after.status]).toEqual([201, 201]);
      const longer = { body: { endsAt: '2026-03-29T00:30:00.001Z' } };
      expect(await alice.request('PATCH', `/outings/${before.body.id}`, longer)).toMatchObject(taken);
      expect((await act(body.id, 'cancel')).status).toBe(200);
      expect((await alice.request('PATCH', `/outings/${before.body.id}`, longer)).status).toBe(204);
    });

    it('makes POST and PATCH 400 for an end that is not after the start', async () => {
      const wrong = { status: 400, body: { details: [{ pointer: '/endsAt', message: 'must be after startsAt' }] } };
      expect(await book(2, alice, sleighId, at('01:00:00Z', '01:00:00Z'))).toMatchObject(wrong);
      const { body } = await book();
      const patch = { body: { startsAt: body.endsAt } };
      expect(await alice.request('PATCH', `/outings/${body.id}`, patch)).toMatchObject(wrong);
    });
  });

  describe('a list below a sleigh', () => {
    it('has only the outings of the sleigh, with filters, sorts, pages and no X-Total-Count', async () => {
      const { id: other } = (await alice.request('POST', '/sleighs', { body: { seats: 2 } })).body;
      const ids: number[] = [];
      for (const guests of [3, 1, 2, 5]) {
        ids.push((await book(guests)).body.id);
        await book(guests, alice, other);
      }
      const path = `/sleighs/${sleighId}/outings`;
      const all = await alice.get(path);
      expect([idsOf(all), all.headers.get('x-total-count')]).toEqual([ids, null]);
      const isUnchanged = { 'if-none-match': etagOf(all) };
      expect((await alice.get(path, isUnchanged)).status).toBe(304);
      await act(ids[0]!, 'cancel');
      expect((await alice.get(path, isUnchanged)).status).toBe(200);
      expect(idsOf(await alice.get(`${path}?status=booked&guestsFrom=2`))).toEqual([ids[2], ids[3]]);
      const pages = await follow(alice, `${path}?sort=-guests&limit=3`);
      expect(pages.flatMap(idsOf)).toEqual([ids[3], ids[0], ids[2], ids[1]]);
      expect((await alice.get(`${path}?sleighId=1`)).status).toBe(400);
      const absent = { status: 404, body: { errorCode: 'SLEIGH_NOT_FOUND' } };
      expect(await alice.get(`/sleighs/999999/outings`)).toMatchObject(absent);
    });

    it('reads on SQLite no rows of other sleighs, except by the index of the reference', async () => {
      if (engineInUse() !== 'sqlite') return;
      const { records } = outings();
      const scope = new RecordScope(records.table).and({ deletedAt: null }).and({ sleighId });
      const query = new PageQuery(scope, { order: 'descending' });
      const page = query.scanned(query.segmentsBeyond({ value: 1000, id: 1000 })[0]!, 100);
      const text = `EXPLAIN QUERY PLAN SELECT * ${page.sql}`;
      const steps: { detail: string }[] = await records.table.dataSource.query(text, [...page.parameters]);
      const plan = steps.map(({ detail }) => detail).join('; ');
      expect(plan).toMatch(/SEARCH outings USING INDEX \S+ \(sleighId=\? AND rowid<\?\)/);
      expect(plan).not.toContain('TEMP B-TREE');
    });
  });

  it('a list of own records at one URL is different for each subject', async () => {
    const { body: one } = await book(2, alice);
    const { body: two } = await book(2, bob);
    for (let round = 0; round < 2; round++) {
      const [ofAlice, ofBob] = [await alice.get('/outings/mine'), await bob.get('/outings/mine')];
      expect([ofAlice.body.at(-1).id, idsOf(ofBob)]).toEqual([one.id, expect.arrayContaining([two.id])]);
      expect(idsOf(ofAlice)).not.toContain(two.id);
      expect(idsOf(ofBob)).not.toContain(one.id);
      expect((await bob.get('/outings/mine', { 'if-none-match': etagOf(ofBob) })).status).toBe(304);
      // A browser in which another subject signs in sends the ETag of the first one.
      expect((await bob.get('/outings/mine', { 'if-none-match': etagOf(ofAlice) })).status).toBe(200);
    }
  });

  it('a record of another subject is 404 if records belong to subjects', async () => {
    const { body } = await book(2, alice);
    const ofBob = outings().records.where({ owner: 'bob' });
    for (const access of [ofBob.get(body.id), ofBob.update(body.id, { guests: 1 }), ofBob.delete(body.id)]) {
      await expect(access).rejects.toMatchObject({ status: 404, errorCode: 'OUTING_NOT_FOUND' });
    }
    expect((await alice.get(`/outings/${body.id}`)).body).toEqual(body);
  });

  it('a scope without a value is an error, and does not select all records', () => {
    const { records } = outings();
    expect(() => records.where({ owner: undefined })).toThrow('where() needs a value for owner, or null');
  });

  it('a deleted outing is 404 and in no list, and keeps its place until it is restored', async () => {
    const { body } = await book();
    const path = `/outings/${body.id}`;
    const usage = () => outings().all.usage();
    const { count } = await usage();
    const list = await alice.get('/outings');
    expect((await alice.request('DELETE', path, { headers: { 'if-match': '"stale"' } })).status).toBe(412);
    expect((await alice.request('DELETE', path)).status).toBe(204);
    expect((await alice.get('/outings', { 'if-none-match': etagOf(list) })).status).toBe(200);
    for (const [method, body] of [['GET'], ['PATCH', { guests: 3 }], ['DELETE']] as const) {
      const headers = { 'if-match': '"stale"' };
      expect((await alice.request(method, path, { body, headers })).status).toBe(404);
    }
    expect((await act(body.id, 'cancel')).status).toBe(404);
    for (const lists of ['/outings', `/sleighs/${sleighId}/outings`, '/outings/mine']) {
      expect(idsOf(await alice.get(lists))).not.toContain(body.id);
    }
    expect((await usage()).count).toBe(count);
    expect(await act(body.id, 'restore')).toMatchObject({ status: 200, body });
    expect(await alice.get(path)).toMatchObject({ status: 200, body });
    expect(idsOf(await alice.get('/outings'))).toContain(body.id);
  });

  it('POST /sleighs/{id}/close, which uses two features, closes the sleigh and cancels its outings, or neither', async () => {
    const { body: outing, headers } = await book();
    const closing = await alice.request('POST', `/sleighs/${sleighId}/close`);
    expect(closing.status).toBe(204);
    expect((await alice.get(`/sleighs/${sleighId}`)).body.isOpen).toBe(false);
    const cancelled = await alice.get(`/outings/${outing.id}`, { 'if-none-match': headers.get('etag')! });
    expect(cancelled).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    expect((await alice.request('POST', '/sleighs/999999/close')).status).toBe(404);
    const failing = jest.spyOn(outings(), 'cancelOfSleigh').mockRejectedValueOnce(new Error('no'));
    const { id } = (await alice.request('POST', '/sleighs', { body: { seats: 4 } })).body;
    expect((await alice.request('POST', `/sleighs/${id}/close`)).status).toBe(500);
    expect((await alice.get(`/sleighs/${id}`)).body.isOpen).toBe(true);
    failing.mockRestore();
  });

  it('scheduled work deletes old outings in batches, frees their places, and is not due again', async () => {
    const { all, records } = outings();
    const deletedAt = (days: number) => new Date(Date.now() - days * 24 * 3_600_000);
    const outing = { sleighId, guests: 2, status: 'booked', owner: 'alice', ...period() } as const;
    const old = Array.from({ length: 250 }, () => ({ ...outing, deletedAt: deletedAt(31) }));
    await Promise.all(old.map((each) => records.create(each)));
    const { record: kept } = await records.create({ ...outing, deletedAt: deletedAt(29) });
    const { count } = await all.usage();
    const job = purge();
    expect(job.nextDate().setZone('Europe/Berlin').hour).toBe(3);
    await job.fireOnTick();
    expect((await all.usage()).count).toBe(count - 250);
    expect((await all.get(kept.id)).record).toEqual(kept);
    await records.create({ ...outing, deletedAt: deletedAt(31) });
    await job.fireOnTick();
    expect((await all.usage()).count).toBe(count - 249);
  });

  it('docs/extending.md shows this code', () => {
    const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
    const withoutIndent = (text: string): string => text.replaceAll(/^ +/gm, '').trim();
    const excerpts = [...read('docs/extending.md').matchAll(/```ts\n\/\/ in (test\/\S+)\n([\s\S]*?)```/g)];
    for (const [, path, text] of excerpts) expect(withoutIndent(read(path!))).toContain(withoutIndent(text!));
    expect(excerpts.length).toBeGreaterThanOrEqual(6);
  });

  describe('the document', () => {
    let document: any;

    beforeAll(async () => {
      document = await (await fetch(`${service.url}/openapi.json`)).json();
    });

    it('describes an action', () => {
      const { operationId, responses, parameters, security } = document.paths['/outings/{id}/cancel'].post;
      expect([operationId, security]).toEqual(['cancelOuting', [{ bearer: [] }]]);
      const names = parameters.map(({ name }: { name: string }) => name);
      expect(names).toEqual(expect.arrayContaining(['id', 'If-Match', 'If-None-Match']));
      const statuses = ['200', '400', '401', '403', '404', '409', '412', '428', '503', '507'];
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(statuses));
      const { examples } = responses[409].content['application/json'];
      expect(examples).toHaveProperty('ALREADY_SEATED.value.errorCode', 'ALREADY_SEATED');
    });

    it('describes a list below a parent and a second list, each with its own operation', () => {
      const below = document.paths['/sleighs/{id}/outings'].get;
      expect(below.operationId).toBe('listOutingsOfSleigh');
      const names = below.parameters.map(({ name }: { name: string }) => name);
      expect(names).toEqual(expect.arrayContaining(['id', 'limit', 'after', 'sort', 'status', 'guestsFrom']));
      expect(names).not.toContain('sleighId');
      expect(below.responses[404].content['application/json'].examples.absent.value.errorCode).toBe('SLEIGH_NOT_FOUND');
      expect(Object.keys(below.responses[200].headers)).not.toContain('X-Total-Count');
      expect(document.paths['/outings/mine'].get.operationId).toBe('listOwnOutings');
    });
  });
});

describe('REQUIRE_IF_MATCH', () => {
  it('makes an action without If-Match 428, and 404 for a deleted record', async () => {
    const environment = { LOG_LEVEL: 'silent', REQUIRE_IF_MATCH: 'true' };
    await using service = await startService(environment, [OutingsModule], [new CreateOutings1790000400000()]);
    const client = Client.of(service, { scope: SCOPE });
    const { id: sleighId } = (await client.request('POST', '/sleighs', { body: { seats: 4 } })).body;
    const { body, headers } = await client.request('POST', '/outings', { body: { sleighId, guests: 2, ...period() } });
    const cancel = (ifMatch?: string) =>
      client.request('POST', `/outings/${body.id}/cancel`, { headers: ifMatch ? { 'if-match': ifMatch } : {} });
    expect((await cancel()).status).toBe(428);
    const cancelled = await cancel(headers.get('etag')!);
    expect(cancelled.status).toBe(200);
    await client.request('DELETE', `/outings/${body.id}`, { headers: { 'if-match': cancelled.headers.get('etag')! } });
    expect((await cancel()).status).toBe(404);
  });
});
