import { jest } from '@jest/globals';
import { SqliteConnection } from './sqlite-connection.js';

it('SqliteConnection prepares a statement once, and caches few of the long ones, which take much memory', () => {
  const connection = new SqliteConnection(':memory:', { readonly: false });
  const prepare = jest.spyOn(connection.database, 'prepare');
  const run = (lengths: number[]): void => {
    for (const length of lengths) connection.run(`SELECT '${'x'.repeat(length)}' AS text`);
  };
  const short = Array.from({ length: 100 }, (_, index) => index);
  run([...short, ...short]);
  expect(prepare).toHaveBeenCalledTimes(100);
  const long = [300_001, 300_002, 300_003, 300_004];
  run([...long, ...long]);
  expect(prepare).toHaveBeenCalledTimes(108);
  connection.database.close();
});
