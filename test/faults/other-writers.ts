import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Counts,
  expectKeptIn,
  Ledger,
  type Stored,
  storedIn,
  storedOn,
  sumOf,
  writeUntil,
} from '../support/load/ledger.js';
import { PostgresServer } from '../support/postgres/postgres-server.js';
import { type Answer, Client, COOKIE } from '../support/service.js';
import { type Fault, type Run, Site, untilWritten, whileLoaded } from './fault.js';

/** Clients of the service, and writers without it: about a third of the writes are theirs. */
const [CLIENTS, WRITERS] = [4, 6];

/** Acknowledged writes without the service between two kills. */
const SOME = 40;

/** How another program writes: by a repository or raw SQL of TypeORM, or by the driver. */
const WAYS = ['repository', 'sql', 'driver'] as const;

/** One transaction of `other-writer.ts`. An update changes the size to large. */
export interface Command {
  readonly number: number;
  readonly way: (typeof WAYS)[number];
  readonly kind: 'insert' | 'update' | 'delete';
  readonly wish: string;
  readonly id?: number;
}

/** The outcome of a command, after its commit. */
export interface Result {
  readonly number: number;
  readonly id?: number;
  readonly error?: string;
}

/**
 * The service and a process that makes a third of the writes without it get SIGKILL in turn. The count stays correct,
 * and no response of the service is older than an acknowledged write.
 */
export const otherWriters: Fault = async (run) => {
  const onSqlite = await Site.use((site) => {
    const url = `sqlite:${join(site.folder, 'cookies.sqlite')}`;
    return history(site, url, () => storedIn(site.folder), run);
  });
  const onPostgres = await Site.use(async (site) => {
    await using server = await PostgresServer.create();
    return await history(site, server.url(), () => storedOn(server.url()), run);
  });
  return sumOf([onSqlite, onPostgres]);
};

async function history(
  site: Site,
  url: string,
  stored: () => Stored | Promise<Stored>,
  { times }: Run,
): Promise<Counts & { readonly pastTheKit: number }> {
  const [all, past] = [new Ledger(), new Ledger('past')];
  const start = () => site.start({ DATABASE_URL: url });
  let [service, other] = [await start(), await OtherWriter.start(url)];
  try {
    for (let time = 1; time <= times; time++) {
      const ledger = new Ledger(`kit ${time}`);
      const client = Client.of(service);
      const write = async (signal: AbortSignal, way: Command['way']): Promise<void> => {
        while (!signal.aborted && (await writeOne(client, other, past, way)));
      };
      const load = (signal: AbortSignal): Promise<unknown> => {
        const writers = Array.from({ length: WRITERS }, (_, index) => write(signal, WAYS[index % WAYS.length]!));
        return Promise.all([writeUntil(signal, service, ledger, CLIENTS), ...writers]);
      };
      await whileLoaded(load, async () => {
        await untilWritten(past, SOME);
        await sleep(200 * Math.random());
        await (time % 2 === 1 ? service.end('SIGKILL') : other.kill());
      });
      if (time % 2 === 1) service = await start();
      else other = await OtherWriter.start(url);
      all.add(ledger);
      expectKeptIn(await stored(), past);
      expectKeptIn(await stored(), all);
    }
    assert.equal(await service.end(), 0);
    const pastTheKit = past.answered(/ 2\d\d$/);
    all.add(past);
    const counts = expectKeptIn(await stored(), all);
    assert.ok(pastTheKit * 4 > counts.acknowledged, `only ${pastTheKit} writes were past the kit`);
    return { ...counts, pastTheKit };
  } finally {
    await other.kill();
  }
}

/**
 * Inserts, changes and deletes a cookie without the service; after each write reads it and a list through the service.
 * @returns `false` when a process has ended
 */
async function writeOne(client: Client, other: OtherWriter, ledger: Ledger, way: Command['way']): Promise<boolean> {
  const wish = ledger.nextWish();
  const inserted = await other.write({ way, kind: 'insert', wish });
  ledger.note(wish, inserted && { status: 201, body: { id: inserted.id } });
  if (inserted?.id === undefined) return false;
  const { id } = inserted;
  const first = await look(client, id, []);
  if (first === undefined) return false;
  const cookie = { id, ...COOKIE, wish };
  assert.deepEqual(outcomes(first), [200, cookie, 200, [cookie]], `an INSERT by ${way}`);

  const updated = await other.write({ way, kind: 'update', wish, id });
  ledger.noteChange(wish, 'large', updated && { status: 204, body: undefined });
  const second = updated && (await look(client, id, first));
  if (second === undefined) return false;
  const changed = { ...cookie, size: 'large' };
  assert.deepEqual(outcomes(second), [200, changed, 200, [changed]], `an UPDATE by ${way}`);

  const deleted = await other.write({ way, kind: 'delete', wish, id });
  ledger.noteDelete(wish, deleted && { status: 204, body: undefined });
  const [record, list] = (deleted && (await look(client, id, second))) ?? [];
  if (record === undefined || list === undefined) return false;
  assert.deepEqual([record.status, list.status, list.body[0]?.id === id], [404, 200, false], `a DELETE by ${way}`);
  return true;
}

/**
 * Reads a cookie and the list that begins with it, if they differ from the known responses.
 * @returns `undefined` when the service has ended, or is unavailable
 */
async function look(client: Client, id: number, known: readonly Answer[]): Promise<Answer[] | undefined> {
  const paths = [`/cookies/${id}`, `/cookies?after=${id - 1}&limit=1`];
  const read = (path: string, index: number): Promise<Answer> =>
    client.get(path, known[index] && { 'if-none-match': known[index].headers.get('etag')! });
  const answers = await Promise.all(paths.map(read)).catch(() => undefined);
  return answers?.some(({ status }) => status === 503) ? undefined : answers;
}

const outcomes = (answers: readonly Answer[]): unknown[] => answers.flatMap(({ status, body }) => [status, body]);

/** The process of `other-writer.ts`. */
class OtherWriter {
  private readonly waiting = new Map<number, (result?: Result) => void>();
  private commands = 0;

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (result: Result) => this.waiting.get(result.number)?.(result));
    child.once('exit', () => this.waiting.forEach((resolve) => resolve()));
  }

  static async start(url: string): Promise<OtherWriter> {
    const child = fork(join(import.meta.dirname, 'other-writer.js'), [url], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    await once(child, 'message');
    return new OtherWriter(child);
  }

  /** @returns the result of a commit; `undefined` when the process has ended */
  async write(command: Omit<Command, 'number'>): Promise<Result | undefined> {
    const number = ++this.commands;
    if (!this.child.connected) return undefined;
    const result = await new Promise<Result | undefined>((resolve) => {
      this.waiting.set(number, resolve);
      this.child.send({ ...command, number }, (error) => error && resolve(undefined));
    });
    this.waiting.delete(number);
    assert.equal(result?.error, undefined);
    return result;
  }

  async kill(): Promise<void> {
    if (this.child.kill('SIGKILL')) await once(this.child, 'exit');
  }
}
