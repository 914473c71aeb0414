import { withoutLead } from '../transaction-control.js';
import { TypeORMError } from 'typeorm';

/** `delete` reclaims space, `autocommit` cannot run inside a transaction, and `temporary` makes a temporary object. */
export type StatementKind = (typeof KINDS)[number][1] | 'other';

const KINDS = [
  [/^BEGIN\b/i, 'begin'],
  [/^(?:COMMIT|END)\b/i, 'commit'],
  [/^(?:SAVEPOINT|RELEASE|ROLLBACK\s+(?:TRANSACTION\s+)?TO)\b/i, 'savepoint'],
  [/^ROLLBACK\b/i, 'rollback'],
  [/^(?:SELECT|WITH|VALUES|EXPLAIN)\b/i, 'read'],
  [/^(?:PRAGMA|VACUUM|ATTACH|DETACH)\b/i, 'autocommit'],
  [/^DELETE\b/i, 'delete'],
  [/^CREATE\s+(?:TEMP(?:ORARY)?\b|\w+\s+(?:IF\s+NOT\s+EXISTS\s+)?["`[]?temp["`\]]?\s*\.)/i, 'temporary'],
] as const;

export function statementKindOf(sql: string): StatementKind {
  const statement = withoutLead(sql);
  return KINDS.find(([pattern]) => pattern.test(statement))?.[1] ?? 'other';
}

/** `PRAGMA name = value` or `PRAGMA name(value)`, with a schema or quotes (https://sqlite.org/pragma.html#syntax). */
const ASSIGNMENT = /^PRAGMA\s+(?:["'`[]?\w+["'`\]]?\s*\.\s*)?["'`[]?(\w+)["'`\]]?\s*[=(]/i;

/** Pragmas that do not change the connection: their value is an argument, or is stored in the file. */
const HARMLESS =
  /^(?:\w+_(?:info|xinfo|list)|foreign_key_check|integrity_check|quick_check|optimize|wal_checkpoint|incremental_vacuum|user_version|application_id)$/i;

/** Rejects a `PRAGMA` that changes the writing connection for all callers, unless `allowed` has its name. */
export function rejectSharedPragma(sql: string, allowed: readonly unknown[]): void {
  const name = ASSIGNMENT.exec(withoutLead(sql))?.[1];
  if (name === undefined || HARMLESS.test(name) || allowed.includes(name.toLowerCase())) return;
  throw new TypeORMError(
    `PRAGMA ${name} would change for every caller, because all write through one connection. To rebuild a table, use ` +
      'a migration, or PRAGMA defer_foreign_keys = ON inside a transaction',
  );
}
