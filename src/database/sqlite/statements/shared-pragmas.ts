import { TypeORMError } from 'typeorm';
import { LEAD } from '../../transaction-control.js';

/** `PRAGMA name = value` or `PRAGMA name(value)`, also with a schema and in quotes (https://sqlite.org/pragma.html#syntax). */
const ASSIGNMENT = /^PRAGMA\s+(?:["'`[]?\w+["'`\]]?\s*\.\s*)?["'`[]?(\w+)["'`\]]?\s*[=(]\s*['"`[]?([-+]?\w+)/i;
const ON = /^(?:on|yes|true|[1-9]\d*)$/i;

/** Pragmas whose value is an argument of a query, is stored in the file, or ends with the transaction. */
const HARMLESS =
  /^(?:\w+_(?:info|xinfo|list)|foreign_key_check|integrity_check|quick_check|optimize|wal_checkpoint|incremental_vacuum|defer_foreign_keys|user_version|application_id)$/i;

/**
 * Rejects a `PRAGMA` that changes the writing connection for all callers.
 * @param migrating whether a migration runs, which may switch foreign keys off
 * @throws {TypeORMError}
 */
export function rejectSharedPragma(sql: string, migrating: boolean): void {
  const [, name, value] = ASSIGNMENT.exec(sql.slice(LEAD.exec(sql)![0].length)) ?? [];
  if (name === undefined || value === undefined || HARMLESS.test(name)) return;
  const isForeignKeys = name.toLowerCase() === 'foreign_keys';
  if (isForeignKeys && (migrating || ON.test(value))) return;
  const remedy = isForeignKeys
    ? 'A migration may rebuild a table without it; elsewhere use PRAGMA defer_foreign_keys = ON inside a transaction'
    : 'The service sets what it needs when it opens the file';
  throw new TypeORMError(
    `PRAGMA ${name} would change for every caller, since all write through one connection. ${remedy}`,
  );
}
