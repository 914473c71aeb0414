import { join } from 'node:path';
import { openDatabase } from '../../../src/database/sqlite/better-sqlite3.js';
import { expectKept, Ledger } from './ledger.js';
import { temporaryFolder } from '../service.js';

describe('the ledger of acknowledged writes', () => {
  let folder: string;
  let ledger: Ledger;

  beforeEach(() => {
    folder = temporaryFolder();
    ledger = new Ledger();
    for (const [id, status] of [201, 503, 201].entries()) {
      ledger.note(ledger.nextWish(), { status, body: { id: id + 1, errorCode: 'SERVICE_UNAVAILABLE' } });
    }
  });

  /** Result of a check of the ledger for a database with cookies of these wishes. */
  const check = (...wishes: string[]): object | string => {
    const database = openDatabase(join(folder, 'cookies.sqlite'));
    database.exec('CREATE TABLE cookies (id integer, size varchar, wish varchar)');
    database.exec('CREATE TABLE storage (resource varchar, used integer)');
    for (const wish of wishes) {
      database.prepare(`INSERT INTO cookies VALUES (?, 'small', ?)`).run(Number(wish.split(' ')[1]), wish);
    }
    database.prepare(`INSERT INTO storage VALUES ('cookies', ?)`).run(wishes.length);
    database.close();
    try {
      return expectKept(folder, ledger);
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('accepts a database with exactly the acknowledged records', () => {
    expect(check('wish 1', 'wish 3')).toMatchObject({
      acknowledged: 2,
      lost: 0,
      foundThoughRefused: 0,
      storedTwice: 0,
    });
  });

  it.each([
    ['lacks what was acknowledged', ['wish 1'], /"lost":1.*for example wish 3/],
    ['has what was rejected', ['wish 1', 'wish 2', 'wish 3'], /"foundThoughRefused":1.*for example wish 2/],
    ['has twice what was sent once', ['wish 1', 'wish 3', 'wish 3'], /"storedTwice":1.*for example wish 3/],
  ])('rejects a database that %s', (_what, wishes, message) => {
    expect(check(...wishes)).toMatch(message);
  });
});
