import assert from 'node:assert/strict';
import { chmodSync, chownSync, copyFileSync, linkSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Counts, expectKept, Ledger, sumOf, writeUntil } from '../support/load/ledger.js';
import { Client, COOKIE } from '../support/service.js';
import { ORDINARY_USER } from '../support/ordinary-user.js';
import { type Fault, LONGEST_LOAD, Site, untilAnswered, untilWritten, whileWriting } from './fault.js';

const FILE = 'cookies.sqlite';

/** Ways to take the open file away from its path. */
const takings: Record<string, (folder: string) => void> = {
  removed: (folder) => rmSync(join(folder, FILE)),
  renamed: (folder) => renameSync(join(folder, FILE), join(folder, 'renamed')),
  replaced: (folder) => {
    copyFileSync(join(folder, FILE), join(folder, 'copy'));
    renameSync(join(folder, 'copy'), join(folder, FILE));
  },
  'without WAL': (folder) => rmSync(join(folder, `${FILE}-wal`)),
};

/**
 * The database file is taken away while clients write. Later writes are not acknowledged. After the file is put back,
 * it has all writes acknowledged before.
 */
export const fileTaken: Fault = async ({ times }) => {
  const all: Counts[] = [];
  const late: string[] = [];
  for (let time = 1; time <= times; time++) {
    for (const [how, take] of Object.entries(takings)) {
      const [counts, acknowledgedLater] = await Site.use((site) => takeWhileWriting(site, take));
      if (acknowledgedLater > 0) late.push(`${how}: ${acknowledgedLater} acknowledged later`);
      all.push(counts);
    }
  }
  assert.deepEqual(late, [], 'writes were acknowledged that are not in the file an operator finds');
  return sumOf(all);
};

async function takeWhileWriting(site: Site, take: (folder: string) => void): Promise<[Counts, number]> {
  const { folder } = site;
  const service = await site.start();
  const client = await Client.of(service);
  const ledger = new Ledger();
  const load = writeUntil(AbortSignal.timeout(LONGEST_LOAD), service, ledger);
  await untilWritten(ledger, 200);
  for (const name of [FILE, `${FILE}-wal`]) linkSync(join(folder, name), join(folder, `kept-${name}`));
  take(folder);
  const later: number[] = [];
  for (let request = 0; request < 20; request++) {
    const wish = ledger.nextWish();
    const answer = await client.post({ ...COOKIE, wish });
    ledger.note(wish, answer);
    later.push(answer.status);
    await sleep(5);
  }
  const read = (await client.get('/cookies?limit=1')).status;
  const ready = (await fetch(`${service.managementUrl}/health/ready`)).status;
  await service.end('SIGKILL');
  await load;
  for (const name of readdirSync(folder).filter((name) => name.startsWith(FILE))) rmSync(join(folder, name));
  for (const name of [FILE, `${FILE}-wal`]) renameSync(join(folder, `kept-${name}`), join(folder, name));
  const again = await site.start();
  assert.equal(await again.end(), 0);
  const acknowledgedLater = later.filter((status) => status === 201).length;
  if (acknowledgedLater === 0) {
    assert.deepEqual([...new Set([...later, read, ready])], [503], 'without its file the service is not available');
  }
  return [expectKept(folder, ledger), acknowledgedLater];
}

/** File and folder become read-only while clients write. Acknowledged writes are stored. */
export const fileReadOnly: Fault = ({ times }) =>
  Site.use(async (site) => {
    const { folder } = site;
    if (ORDINARY_USER.uid !== undefined) chownSync(folder, ORDINARY_USER.uid, ORDINARY_USER.uid);
    const ledger = new Ledger();
    for (let time = 1; time <= times; time++) {
      const service = await site.start({}, ORDINARY_USER);
      const client = await Client.of(service);
      await whileWriting(service, ledger, async () => {
        await untilWritten(ledger, 200);
        setWritable(folder, false);
        await untilAnswered(ledger, /./, 2000);
        assert.ok([200, 503].includes((await client.get('/cookies')).status));
      });
      assert.equal(await service.end(), 0);
      const unexpected = [...ledger.answers.keys()].filter((answer) => !/ (201|204|503)$/.test(answer));
      assert.deepEqual(unexpected, []);
      expectKept(folder, ledger);
      setWritable(folder, true);
    }
    return expectKept(folder, ledger);
  });

function setWritable(folder: string, writable: boolean): void {
  if (writable) chmodSync(folder, 0o755);
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), writable ? 0o644 : 0o444);
  if (!writable) chmodSync(folder, 0o555);
}
