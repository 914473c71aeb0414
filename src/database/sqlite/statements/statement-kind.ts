import { LRUCache } from 'lru-cache';
import { LEAD } from '../../transaction-control.js';

/**
 * Kinds of statements: transaction control, reads, writes that reclaim space, statements that cannot share a
 * transaction, statements that make a temporary object, and others. Savepoints belong to the transaction around them.
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
  // This would undo the whole group commit.
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
