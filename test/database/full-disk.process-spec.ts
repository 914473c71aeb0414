import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Site } from '../faults/fault.js';
import { diskFull } from '../faults/full.js';
import { line, run } from '../support/command.js';
import { expectKept, Ledger } from '../support/load/ledger.js';
import { Client, COOKIE } from '../support/service.js';
import { SmallVolume } from '../support/faults/small-volume.js';

/** Bytes: room for the tables, and for hundreds of records. */
const SIZE = 400 * 1024;
const LONGEST_WISH = 255;

/** Posts the longest cookies, a few at a time, until the service has rejected 20 of them in a row. */
async function fill(client: Client, ledger: Ledger): Promise<void> {
  for (let refusals = 0, posts = 0; refusals < 20; posts++) {
    if (posts > 5000) throw new Error('The storage does not get full');
    const statuses = await Promise.all(Array.from({ length: 4 }, () => postLongest(client, ledger)));
    refusals = statuses.includes(201) ? 0 : refusals + statuses.length;
  }
}

async function postLongest(client: Client, ledger: Ledger): Promise<number> {
  const wish = ledger.nextWish();
  const answer = await client.post({ ...COOKIE, wish });
  ledger.note(wish, answer);
  if (answer.status !== 201) {
    expect(answer.status).toBe(507);
    expect(answer.body).toMatchObject({ message: 'Storage is full', errorCode: 'DISK_FULL' });
    expect(answer.headers.has('retry-after')).toBe(false);
  }
  return answer.status;
}

async function expectReads(client: Client, { acknowledged }: Ledger): Promise<void> {
  const list = await client.get('/cookies');
  expect(list.status).toBe(200);
  expect(list.body.map(({ id }: { id: number }) => id)).toEqual([...acknowledged.values()].sort((a, b) => a - b));
  const [[wish, id] = ['', 0]] = acknowledged;
  expect((await client.get(`/cookies/${id}`)).body.wish).toBe(wish);
}

/** Deletes the `count` oldest cookies, a few at a time. */
async function deleteOldest(client: Client, { acknowledged }: Ledger, count: number): Promise<void> {
  const oldest = [...acknowledged].slice(0, count).values();
  const deleteNext = async (): Promise<void> => {
    for (const [wish, id] of oldest) {
      expect((await client.request('DELETE', `/cookies/${id}`)).status).toBe(204);
      acknowledged.delete(wish);
    }
  };
  await Promise.all(Array.from({ length: 4 }, deleteNext));
}

const onSmallVolume = SmallVolume.mountable ? it : it.skip;
const skipped = SmallVolume.mountable ? '' : ' (skipped: this user may not mount a volume)';

function onVolume(test: (site: Site, folder: string, volume: SmallVolume) => Promise<void>): () => Promise<void> {
  return async () => {
    using volume = new SmallVolume(SIZE);
    await Site.use((site) => test(site, volume.folder, volume));
  };
}

describe('a full disk', () => {
  onSmallVolume(
    `refuses POST with 507, reads and deletes go on, and deletes make room, also after kill -9 and a start on it${skipped}`,
    onVolume(async (site, folder) => {
      let service = await site.start({}, { folder });
      let client = Client.of(service);
      const ledger = new Ledger('wish', LONGEST_WISH);
      const keyed = { ...COOKIE, wish: ledger.nextWish() };
      const first = await client.post(keyed, { 'idempotency-key': 'before' });
      ledger.note(keyed.wish, first);
      await fill(client, ledger);
      const repeated = await client.post(keyed, { 'idempotency-key': 'before' });
      expect([repeated.status, repeated.text]).toEqual([201, first.text]);
      const stored = ledger.acknowledged.size;
      expect(stored).toBeGreaterThan(100);
      await expectReads(client, ledger);
      expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
      await deleteOldest(client, ledger, Math.floor(stored / 2));
      await expectReads(client, ledger);
      const before = ledger.acknowledged.size;
      await fill(client, ledger);
      expect(ledger.acknowledged.size).toBeGreaterThan(before + stored / 4);
      await service.end('SIGKILL');
      service = await site.start({}, { folder });
      client = Client.of(service);
      await expectReads(client, ledger);
      await deleteOldest(client, ledger, Infinity);
      expect((await client.post(COOKIE)).status).toBe(201);
      ledger.acknowledged.set(COOKIE.wish, (await client.get('/cookies')).body[0].id);
      expect(await service.end()).toBe(0);
      expectKept(folder, ledger);
    }),
  );

  it('may be a limit of the file size: POST is 507, and deletes continue', () =>
    Site.use(async (site) => {
      const wishes = Array.from({ length: 6000 }, (_, id) => line({ id: id + 1, wish: '🍪'.repeat(LONGEST_WISH) }));
      expect(await run(site.folder, ['import', 'cookies'], { input: wishes.join('') })).toMatchObject({ code: 0 });
      const { size } = statSync(join(site.folder, 'cookies.sqlite'));
      // In units of 1024 bytes. The WAL is smaller than the database.
      const through = ['bash', '-c', `ulimit -f ${Math.ceil(size / 1024) + 40}; exec "$0" "$@"`];
      const client = Client.of(await site.start({}, { through }));
      const ledger = new Ledger('wish', LONGEST_WISH);
      await fill(client, ledger);
      for (let id = 1; id <= 40; id++) expect((await client.request('DELETE', `/cookies/${id}`)).status).toBe(204);
      for (const id of ledger.acknowledged.values()) expect((await client.get(`/cookies/${id}`)).status).toBe(200);
      expect(ledger.answered(/^POST 201$/)).toBeGreaterThan(0);
    }));

  onSmallVolume(
    `deletes every record while another process takes each byte that is free, also after a start on a full disk${skipped}`,
    onVolume(async (site, folder, volume) => {
      const ledger = new Ledger('wish', LONGEST_WISH);
      const first = await site.start({}, { folder });
      const writer = Client.of(first);
      for (let count = 0; count < 100; count++) await postLongest(writer, ledger);
      expect(await first.end()).toBe(0);
      volume.occupy();
      const client = Client.of(await site.start({}, { folder }));
      await deleteOldest(client, ledger, 1);
      await volume.whileSeized(async () => {
        while (ledger.acknowledged.size > 0) {
          await Promise.all(Array.from({ length: 4 }, () => postLongest(client, ledger)));
          await deleteOldest(client, ledger, 5);
        }
      });
      volume.giveBack();
      for (let posts = 0; (await postLongest(client, ledger)) !== 201; posts++) {
        expect(posts).toBeLessThan(100);
        await sleep(100);
      }
    }),
  );

  onSmallVolume(`goes on when someone else filled the disk under load and gave the room back${skipped}`, async () => {
    await diskFull({ times: 1 });
  });
});
