import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Answer, Client, COOKIE } from './service.js';

/** What the clients of one database learned about the cookies they sent, each known by its wish. */
export class Ledger {
  /** Answered with 201, and the id it was given. */
  readonly acknowledged = new Map<string, number>();
  /** Answered with any other status. */
  readonly refused = new Map<string, number>();
  /** Sent, but the connection broke before an answer came: it may be stored or not. */
  readonly unanswered = new Set<string>();
  private sent = 0;

  /** @param name sets the wishes of this ledger apart from those of others on the same database */
  constructor(private readonly name = 'wish') {}

  nextWish(): string {
    this.sent += 1;
    return `${this.name} ${this.sent}`;
  }

  note(wish: string, { status, body }: Pick<Answer, 'status' | 'body'>): void {
    if (status === 201) this.acknowledged.set(wish, body.id);
    else this.refused.set(wish, status);
  }
}

/** Posts cookies from several clients, each one after the other, until `signal` aborts or the connection breaks. */
export async function postUntil(
  signal: AbortSignal,
  service: { readonly url: string },
  ledger: Ledger,
  clients = 16,
): Promise<void> {
  const client = await Client.of(service);
  const postOneByOne = async (): Promise<void> => {
    while (!signal.aborted) {
      const wish = ledger.nextWish();
      try {
        ledger.note(wish, await client.post({ ...COOKIE, wish }));
      } catch {
        ledger.unanswered.add(wish);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, postOneByOne));
}

export interface Stored {
  readonly wishes: Map<string, number>;
  readonly used: number;
  readonly integrity: string;
}

/** The committed contents of the database in `folder`, read past the service. */
export function storedIn(folder: string): Stored {
  const database = new Database(join(folder, 'cookies.sqlite'), { readonly: true });
  try {
    const rows = database.prepare('SELECT id, wish FROM cookies').all() as { id: number; wish: string }[];
    return {
      wishes: new Map(rows.map(({ id, wish }) => [wish, id])),
      used: database.prepare(`SELECT used FROM storage WHERE resource = 'cookies'`).pluck().get() as number,
      integrity: database.pragma('integrity_check', { simple: true }) as string,
    };
  } finally {
    database.close();
  }
}

/** Everything acknowledged is there under its id, nothing refused is, the count is true and the file is sound. */
export function expectKept(folder: string, { acknowledged, refused }: Ledger): void {
  const { wishes, used, integrity } = storedIn(folder);
  expect([...acknowledged].filter(([wish, id]) => wishes.get(wish) !== id)).toEqual([]);
  expect([...refused.keys()].filter((wish) => wishes.has(wish))).toEqual([]);
  expect(used).toBe(wishes.size);
  expect(integrity).toBe('ok');
}
