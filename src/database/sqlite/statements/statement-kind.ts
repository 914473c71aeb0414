import { LRUCache } from 'lru-cache';
import { LEAD } from '../../transaction-control.js';

/**
 * What a statement is to the data layer: transaction control, a plain read, a write that reclaims space, one that cannot share
 * a transaction, what makes a temporary table, view or trigger, or anything else.
 * Savepoints belong to the transaction they are set in.
 */
export type StatementKind =
  | 'begin'
  | 'commit'
  | 'rollback'
  | 'savepoint'
  | 'rollback to'
  | 'read'
  | 'delete'
  | 'autocommit'
  | 'temporary'
  | 'other';

const KINDS: readonly [RegExp, StatementKind][] = [
  [/^BEGIN\b/i, 'begin'],
  [/^(?:COMMIT|END)\b/i, 'commit'],
  [/^ROLLBACK\s+(?:TRANSACTION\s+)?TO\b/i, 'rollback to'],
  [/^ROLLBACK\b/i, 'rollback'],
  [/^(?:SAVEPOINT|RELEASE)\b/i, 'savepoint'],
  [/^(?:SELECT|WITH|VALUES|EXPLAIN)\b/i, 'read'],
  [/^(?:PRAGMA|VACUUM|ATTACH|DETACH)\b/i, 'autocommit'],
  // It would undo everything that shares its commit.
  [/\bOR\s+ROLLBACK\b/i, 'autocommit'],
  [/^DELETE\b/i, 'delete'],
  [/^CREATE\s+(?:TEMP(?:ORARY)?\b|\w+\s+(?:IF\s+NOT\s+EXISTS\s+)?["`[]?temp["`\]]?\s*\.)/i, 'temporary'],
];

const kinds = new LRUCache<string, StatementKind>({ max: 1000 });

export function kindOf(sql: string): StatementKind {
  let kind = kinds.get(sql);
  if (kind === undefined) {
    const statement = sql.slice(LEAD.exec(sql)![0].length);
    kind = KINDS.find(([pattern]) => pattern.test(statement))?.[1] ?? 'other';
    kinds.set(sql, kind);
  }
  return kind;
}
