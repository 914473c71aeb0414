import { join } from 'node:path';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { type Database, openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { copyDatabase } from './copy-database.js';

describe('copyDatabase', () => {
  let folder: string;
  let source: Database;

  beforeEach(() => {
    folder = temporaryFolder();
    source = openDatabase(join(folder, 'source'));
    source.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE t (id INTEGER PRIMARY KEY, bytes)');
    // More pages than one step of the copy; other processes may write between two steps.
    source.exec('INSERT INTO t (bytes) VALUES (zeroblob(12000000))');
  });

  afterEach(() => source.close());

  const rowsOf = (name: string): unknown => {
    using copy = openDatabase(join(folder, name), { readonly: true });
    return copy.prepare('SELECT count(*) FROM t').pluck().get();
  };

  /** A signal that never aborts. `onStep` is called after each step of the copy. */
  const signalWith = (onStep: () => void): AbortSignal =>
    Object.assign(new AbortController().signal, { throwIfAborted: onStep });

  it('copies the state at its start, in the usual number of steps, while others write between the steps', async () => {
    let steps = 0;
    const signal = signalWith(() => {
      steps++;
      if (steps > 20) throw new Error('The copy starts again with every write');
      source.exec('INSERT INTO t (bytes) VALUES (NULL)');
    });
    await copyDatabase(join(folder, 'source'), join(folder, 'copy'), signal);
    expect(rowsOf('copy')).toBe(1);
    expect(steps).toBeGreaterThan(1);
    expect(rowsOf('source')).toBe(1 + steps);
  });

  it('rejects with the reason of the interrupt', async () => {
    const interrupt = AbortSignal.abort(new Error('enough'));
    const copying = copyDatabase(join(folder, 'source'), join(folder, 'copy'), interrupt);
    await expect(copying).rejects.toMatchObject({ message: 'enough' });
  });
});
