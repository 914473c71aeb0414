import { TypeORMError } from 'typeorm';

// The name may be quoted, and led by that of a schema: https://sqlite.org/pragma.html#syntax
const SHARED =
  /\b(foreign_keys|ignore_check_constraints|synchronous|journal_mode|locking_mode|query_only|wal_autocheckpoint)\b[^=(;]*[=(]\s*['"]?(\w+)/i;
const ON = /^(?:on|yes|true|[1-9]\d*)$/i;

/**
 * Rejects a `PRAGMA` that would take from all callers what the data layer promises them: they write through one connection.
 * @param migrating whether a migration asks, which may do without foreign keys; they are enforced again after it
 * @throws {TypeORMError}
 */
export function rejectSharedPragma(sql: string, migrating: boolean): void {
  const [, name, value] = SHARED.exec(sql) ?? [];
  if (name === undefined || value === undefined) return;
  const isForeignKeys = name.toLowerCase() === 'foreign_keys';
  if (isForeignKeys && (migrating || ON.test(value))) return;
  const remedy = isForeignKeys
    ? 'A migration may rebuild a table without it; elsewhere use PRAGMA defer_foreign_keys = ON inside a transaction'
    : 'The service sets it when it opens the file';
  throw new TypeORMError(
    `PRAGMA ${name} would change for every caller, since all write through one connection. ${remedy}`,
  );
}
