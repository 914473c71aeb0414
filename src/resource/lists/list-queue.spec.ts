import type { FastifyRequest } from 'fastify';
import { Config } from '../../config/config.js';
import { ListQueue } from './list-queue.js';

const TIMEOUT = 300;

/** A list that is being made until `done` is called. */
class Making {
  private finish!: () => void;
  readonly made: Promise<string>;

  constructor(
    queue: ListQueue,
    subject: string,
    began: string[],
    { isPage = false, socket = { destroyed: false } }: { isPage?: boolean; socket?: { destroyed: boolean } } = {},
  ) {
    const done = new Promise<void>((resolve) => (this.finish = resolve));
    const request = { user: { subject }, socket } as unknown as FastifyRequest;
    this.made = queue.run(request, isPage, async () => {
      began.push(subject);
      await done;
      return subject;
    });
  }

  async end(): Promise<void> {
    this.finish();
    await this.made;
  }
}

let queue: ListQueue;
let began: string[];

beforeEach(() => {
  queue = new ListQueue({ listsInProgress: 4, database: { busyTimeout: TIMEOUT } } as Config);
  began = [];
});

const make = (subject: string, options?: ConstructorParameters<typeof Making>[3]): Making =>
  new Making(queue, subject, began, options);

describe('the queue of lists', () => {
  it('leaves a quarter of the slots to other subjects', async () => {
    const lists = Array.from({ length: 5 }, () => make('alice'));
    expect(began).toEqual(['alice', 'alice', 'alice']);
    const other = make('bob');
    expect(began.at(-1)).toBe('bob');
    for (const list of [other, ...lists]) await list.end();
    expect(began).toHaveLength(6);
  });

  it('serves subjects in turn, however much one asks', async () => {
    const first = [make('alice'), make('alice'), make('alice'), make('bob')];
    const waiting = [make('alice'), make('alice'), make('alice'), make('carol'), make('dave')];
    expect(began).toHaveLength(4);
    for (const list of first) await list.end();
    expect(began.slice(4, 7).toSorted()).toEqual(['alice', 'carol', 'dave']);
    for (const list of waiting) await list.end();
    expect(began).toHaveLength(9);
  });

  it('gives every other free slot to a page, since long lists begin slowly, and the others to the first list', async () => {
    const first = ['a', 'b', 'c', 'd'].map((subject) => make(subject));
    const long = ['e', 'f', 'g', 'reader'].map((subject) => make(subject));
    const pages = ['reader', 'paging'].map((subject) => make(subject, { isPage: true }));
    for (const list of first) await list.end();
    expect(began.slice(4)).toEqual(['reader', 'e', 'paging', 'f']);
    for (const list of [...long, ...pages]) await list.end();
    expect(began).toHaveLength(10);
  });

  it('rejects a list with 503 after the longest wait, and forgets its subject', async () => {
    const lists = ['a', 'b', 'c', 'd'].map((subject) => make(subject));
    const waiting = make('late');
    await expect(waiting.made).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining(`${TIMEOUT} ms`),
    });
    for (const list of lists) await list.end();
    expect(queue.subjectCount).toBe(0);
    await make('late').end();
  });

  it('makes no list for a client that has left while waiting', async () => {
    const lists = ['a', 'b', 'c', 'd'].map((subject) => make(subject));
    const socket = { destroyed: false };
    const gone = make('gone', { socket });
    // Not 503, which counts as a problem of the service.
    const rejected = expect(gone.made).rejects.toMatchObject({ status: 400 });
    socket.destroyed = true;
    for (const list of lists) await list.end();
    await rejected;
    expect(began).not.toContain('gone');
  });

  it('frees the slot of a list that could not be made', async () => {
    const request = { user: { subject: 'alice' }, socket: {} } as unknown as FastifyRequest;
    for (let list = 0; list < 10; list++) {
      await expect(queue.run(request, false, () => Promise.reject(new Error('corrupt')))).rejects.toThrow('corrupt');
    }
    await make('alice').end();
    expect(began).toEqual(['alice']);
  });
});
