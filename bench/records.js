import { openDatabase } from './sqlite.js';

/** Adds records to a SQLite file with tables, which no program may have open. The file stays in WAL mode. */
export function fillSqlite(file, records) {
  const database = openDatabase(file);
  const names = database.prepare(`SELECT name FROM pragma_table_info('cookies')`).pluck().all();
  const hasRevision = names.includes('revision');
  database.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${records})
    INSERT INTO cookies (flavor, size, wish ${hasRevision ? ', revision' : ''})
    SELECT CASE n % 3 WHEN 0 THEN 'chocolate' WHEN 1 THEN 'vanilla' ELSE 'cinnamon' END,
      CASE n % 2 WHEN 0 THEN 'small' ELSE 'medium' END, format('May test run %d be green', n) ${hasRevision ? ', n' : ''}
    FROM numbers`);
  // Stock Nest has no `storage` table.
  if (hasRevision) database.exec(`UPDATE storage SET used = ${records}, revision = ${records}`);
  database.close();
}
