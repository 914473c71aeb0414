import { existsSync, writeFileSync } from 'node:fs';
import { setImmediate as pause } from 'node:timers/promises';
import { openDatabase } from '../dist/src/database/sqlite/better-sqlite3.js';

const AT_ONCE = 250_000;

/**
 * Adds records to a database whose tables are there and which nobody has open; the file stays in WAL mode.
 * @param onProgress called with the number stored so far
 */
export async function fillTables(file, records, onProgress) {
  const database = openDatabase(file);
  // A file that is lost with the machine is made anew.
  database.pragma('synchronous = OFF');
  const has = (table, column) =>
    database.prepare('SELECT 1 FROM pragma_table_info(?) WHERE name = ?').get(table, column) !== undefined;
  const revision = has('cookies', 'revision') ? ['revision', 'n'] : [];
  const columns = ['flavor', 'size', 'wish', ...revision.slice(0, 1)];
  const insert = database.prepare(`
    WITH RECURSIVE numbers (n) AS (SELECT ? UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
    INSERT INTO cookies (${columns.join(', ')})
    SELECT CASE n % 3 WHEN 0 THEN 'chocolate' WHEN 1 THEN 'vanilla' ELSE 'cinnamon' END,
      CASE n % 2 WHEN 0 THEN 'small' ELSE 'medium' END,
      ${['format("May test run %d be green", n)'.replaceAll('"', "'"), ...revision.slice(1)].join(', ')}
    FROM numbers`);
  for (let stored = 0; stored < records;) {
    const next = Math.min(records, stored + AT_ONCE);
    insert.run(stored + 1, next);
    stored = next;
    onProgress(stored);
    await pause();
  }
  if (has('storage', 'used')) {
    database.prepare(`UPDATE storage SET used = ?, revision = ? WHERE resource = 'cookies'`).run(records, records);
  }
  database.close();
}

/** Writes the file of json-server. */
export function fillJson(file, records) {
  if (existsSync(file)) return;
  const cookies = Array.from({ length: records }, (_, index) => ({
    id: index + 1,
    flavor: ['vanilla', 'cinnamon', 'chocolate'][index % 3],
    size: ['medium', 'small'][index % 2],
    wish: `May test run ${index + 1} be green`,
  }));
  writeFileSync(file, JSON.stringify({ cookies }));
}
