import assert from 'node:assert/strict';
import { join } from 'node:path';
import { openDatabase } from '../../../src/database/sqlite/better-sqlite3.js';
import { databaseUrlFor, engineInUse } from '../engine.js';
import { HttpClient, jsonFields, jsonOf } from '../http-client.js';
import { onServer } from '../postgres/postgres-server.js';
import { type Answer, COOKIE, token, type Endpoint } from '../service.js';

type Response = Pick<Answer, 'status' | 'body'>;

/** The responses that the clients of one database got for their cookies, each identified by its wish. */
export class Ledger {
  /** Created cookies that were not deleted, with their ids. */
  readonly acknowledged = new Map<string, number>();
  /** Cookies whose POST had another status, so they must not be stored. */
  readonly refused = new Map<string, number>();
  /** Cookies whose POST or DELETE had no response, or OUTCOME_UNKNOWN: they may be stored or not. */
  readonly unanswered = new Set<string>();
  /**
   * Counts by method and response, such as `POST 201`, `POST 503 OUTCOME_UNKNOWN`, or `POST unknown` without a
   * response.
   */
  readonly answers = new Map<string, number>();
  private readonly deleted = new Set<string>();
  /** Changed sizes; `undefined` if the change had no response. */
  private readonly sizes = new Map<string, string | undefined>();
  private wishes = 0;

  /**
   * @param name distinguishes the wishes of this ledger from others on the same database
   * @param wishLength in code points; longer cookies fill a volume sooner
   */
  constructor(
    private readonly name = 'wish',
    private readonly wishLength = 0,
  ) {}

  nextWish(): string {
    this.wishes += 1;
    return `${this.name} ${this.wishes}`.padEnd(this.wishLength, '.');
  }

  /** Records the response to a POST; `undefined` without a response. */
  note(wish: string, answer?: Response): void {
    this.count('POST', answer);
    const settled = settling(answer);
    if (settled === undefined) this.unanswered.add(wish);
    else if (settled.status === 201) this.acknowledged.set(wish, settled.body.id);
    else this.refused.set(wish, settled.status);
  }

  noteChange(wish: string, size: string, answer?: Response): void {
    this.count('PATCH', answer);
    const settled = settling(answer);
    if (settled === undefined) this.sizes.set(wish, undefined);
    else if (settled.status === 204) this.sizes.set(wish, size);
  }

  noteDelete(wish: string, answer?: Response): void {
    this.count('DELETE', answer);
    const settled = settling(answer);
    if (settled !== undefined && settled.status !== 204) return;
    this.acknowledged.delete(wish);
    (settled === undefined ? this.unanswered : this.deleted).add(wish);
  }

  /** Adds the records of another ledger of the same database. */
  add(other: Ledger): void {
    for (const [wish, id] of other.acknowledged) this.acknowledged.set(wish, id);
    for (const [wish, status] of other.refused) this.refused.set(wish, status);
    for (const [wish, size] of other.sizes) this.sizes.set(wish, size);
    for (const [answer, times] of other.answers) this.answers.set(answer, (this.answers.get(answer) ?? 0) + times);
    for (const wish of other.unanswered) this.unanswered.add(wish);
    for (const wish of other.deleted) this.deleted.add(wish);
  }

  /** Number of responses whose description matches. */
  answered(pattern: RegExp): number {
    return [...this.answers].reduce((sum, [answer, times]) => (pattern.test(answer) ? sum + times : sum), 0);
  }

  /** Acknowledged changes that the database lacks. */
  lostIn({ rows }: Stored): string[] {
    const created = [...this.acknowledged].filter(([wish, id]) => rows.get(wish)?.id !== id).map(([wish]) => wish);
    const deleted = [...this.deleted].filter((wish) => rows.has(wish));
    const changed = [...this.acknowledged.keys()].filter((wish) => {
      const size = this.sizes.has(wish) ? this.sizes.get(wish) : COOKIE.size;
      return size !== undefined && rows.has(wish) && rows.get(wish)!.size !== size;
    });
    return [...created, ...deleted, ...changed];
  }

  /** Stored cookies that were rejected. */
  foundIn({ rows }: Stored): string[] {
    return [...this.refused.keys()].filter((wish) => rows.has(wish));
  }

  private count(method: string, answer?: Response): void {
    const outcome = answer !== undefined && settling(answer) === undefined ? ' OUTCOME_UNKNOWN' : '';
    const key = `${method} ${answer?.status ?? 'unknown'}${outcome}`;
    this.answers.set(key, (this.answers.get(key) ?? 0) + 1);
  }
}

/** The response, if it tells the outcome. Every 503 but OUTCOME_UNKNOWN promises that nothing has changed. */
function settling(answer?: Response): Response | undefined {
  return answer?.status === 503 && answer.body?.errorCode === 'OUTCOME_UNKNOWN' ? undefined : answer;
}

/** A client with one connection, as in a pooled HTTP client. */
class LoadClient {
  /** Whether the last response announced the end of the connection. */
  toldToClose = false;
  private readonly client: HttpClient;
  private readonly own: string[] = [];

  constructor(
    url: string,
    private readonly bearer: string,
    private readonly ledger: Ledger,
  ) {
    this.client = new HttpClient(url);
  }

  /**
   * Writes one request after the other: mostly creates, some changes, some deletes of its cookies.
   * @param turn offset in this order, so that concurrent clients send different requests
   */
  async writeUntil(signal: AbortSignal, turn: number): Promise<void> {
    try {
      for (; !signal.aborted && !this.toldToClose; turn++) {
        if ((await this.write(turn)) === undefined) return;
      }
    } finally {
      this.client.close();
    }
  }

  private write(turn: number): Promise<Response | undefined> {
    if (turn % 5 === 2 && this.own.length > 0) return this.change(this.own.at(-1)!);
    if (turn % 5 === 4 && this.own.length > 0) return this.delete(this.own[0]!);
    return this.create();
  }

  private async create(): Promise<Response | undefined> {
    const wish = this.ledger.nextWish();
    const answer = await this.send('POST', '/cookies', { ...COOKIE, wish });
    this.ledger.note(wish, answer);
    if (answer?.status === 201) this.own.push(wish);
    return answer;
  }

  private async change(wish: string): Promise<Response | undefined> {
    const size = 'large';
    const answer = await this.send('PATCH', this.pathOf(wish), { size });
    this.ledger.noteChange(wish, size, answer);
    return answer;
  }

  private async delete(wish: string): Promise<Response | undefined> {
    const answer = await this.send('DELETE', this.pathOf(wish));
    this.ledger.noteDelete(wish, answer);
    if (!this.ledger.acknowledged.has(wish)) this.own.shift();
    return answer;
  }

  private pathOf(wish: string): string {
    return `/cookies/${this.ledger.acknowledged.get(wish)}`;
  }

  /**
   * @returns `undefined` when the connection broke before the response was complete, or when it did not come in time,
   * for example after the connection was passed to a killed worker
   */
  private async send(method: string, path: string, body?: unknown): Promise<Response | undefined> {
    const headers = jsonFields(this.bearer, body !== undefined);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const response = await this.client.send(method, path, headers, text).catch(() => undefined);
    if (response === undefined) return undefined;
    this.toldToClose = response.headers.get('connection') === 'close';
    return { status: response.status, body: jsonOf(response) };
  }
}

/**
 * Writes with several clients until `signal` aborts, the connections break or the service announces their end.
 * @returns number of clients whose connection was announced to end
 */
export async function writeUntil(
  signal: AbortSignal,
  service: Endpoint,
  ledger: Ledger,
  clients = 16,
): Promise<number> {
  const bearer = await token();
  const all = Array.from({ length: clients }, () => new LoadClient(service.url, bearer, ledger));
  await Promise.all(all.map((client, index) => client.writeUntil(signal, index)));
  return all.filter(({ toldToClose }) => toldToClose).length;
}

export interface Stored {
  /** Rows by wish. */
  readonly rows: Map<string, { id: number; size: string }>;
  /** Wishes of several rows, although each was sent once. */
  readonly twice: readonly string[];
  readonly used: number;
  readonly count: number;
  readonly integrity: string;
}

interface Row {
  readonly id: number;
  readonly size: string;
  readonly wish: string;
}

function byWish(all: readonly Row[]): Pick<Stored, 'rows' | 'twice'> {
  const rows = new Map<string, Row>();
  const twice: string[] = [];
  for (const row of all) {
    if (rows.has(row.wish)) twice.push(row.wish);
    rows.set(row.wish, row);
  }
  return { rows, twice };
}

/** The committed contents of the database in `folder`, read without the service. */
export function storedIn(folder: string): Stored {
  using database = openDatabase(join(folder, 'cookies.sqlite'), { readonly: true });
  const rows = database.prepare('SELECT id, size, wish FROM cookies').all() as Row[];
  return {
    ...byWish(rows),
    used: database.prepare(`SELECT used FROM storage WHERE resource = 'cookies'`).pluck().get() as number,
    count: rows.length,
    integrity: database.pragma('integrity_check', { simple: true }) as string,
  };
}

/** The committed contents of a test's database, on the engine in use. */
export async function contentsOf(folder: string): Promise<Stored> {
  return engineInUse() === 'sqlite' ? storedIn(folder) : storedOn(databaseUrlFor(folder));
}

/** The committed contents of a PostgreSQL database, read without the service. */
export function storedOn(url: string): Promise<Stored> {
  return onServer(url, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const { rows } = await client.query<Row>('SELECT id::int, size, wish FROM cookies');
    const usage = await client.query<{ used: string }>(`SELECT used FROM storage WHERE resource = 'cookies'`);
    return { ...byWish(rows), used: Number(usage.rows[0]!.used), count: rows.length, integrity: 'ok' };
  });
}

/** Requests to a service by outcome, and the records in its database. */
export type Counts = {
  readonly sent: number;
  readonly acknowledged: number;
  readonly refused: number;
  /** No response before the connection broke, or OUTCOME_UNKNOWN. */
  readonly unknown: number;
  readonly lost: number;
  readonly foundThoughRefused: number;
  readonly storedTwice: number;
  readonly used: number;
  readonly rows: number;
  readonly integrity: string;
};

/**
 * Expects that every acknowledged change is stored, nothing rejected is stored, nothing is stored twice, the count is
 * correct and the file is sound.
 */
export function expectKept(folder: string, ledger: Ledger): Counts {
  return expectKeptIn(storedIn(folder), ledger);
}

/** `expectKept` for contents that were already read. */
export function expectKeptIn(stored: Stored, ledger: Ledger): Counts {
  const [lost, found] = [ledger.lostIn(stored), ledger.foundIn(stored)];
  const counts: Counts = {
    sent: ledger.answered(/./),
    acknowledged: ledger.answered(/ 2\d\d$/),
    refused: ledger.answered(/ [345]\d\d$/),
    unknown: ledger.answered(/ (503 OUTCOME_UNKNOWN|unknown)$/),
    lost: lost.length,
    foundThoughRefused: found.length,
    storedTwice: stored.twice.length,
    used: stored.used,
    rows: stored.count,
    integrity: stored.integrity,
  };
  const kept = { lost: 0, foundThoughRefused: 0, storedTwice: 0, used: stored.count, integrity: 'ok' };
  const examples = [lost, found, stored.twice].flatMap((wishes) => wishes.slice(0, 5)).join(', ');
  assert.deepEqual({ ...counts, ...kept }, counts, `${JSON.stringify(counts)}; for example ${examples}`);
  return counts;
}

/** The sums of several databases. */
export function sumOf(all: readonly Counts[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const { integrity: _integrity, ...counts } of all) {
    for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
  }
  return sum;
}
