import { LEAD } from '../transaction-control.js';

/**
 * Statements that change the session. `SET LOCAL`, `SET TRANSACTION` and `SET CONSTRAINTS` end with their transaction.
 */
const STATEMENT =
  /^(?:SET\s+(?!LOCAL\b|TRANSACTION\b|CONSTRAINTS\b)|RESET\b|(?:UN)?LISTEN\b|LOAD\b|DISCARD\b|DEALLOCATE\b|PREPARE\s+(?!TRANSACTION\b)|CREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+|LOCAL\s+)?TEMP|DECLARE\b.*\bWITH\s+HOLD\b)/is;
/** Session locks, and `set_config` with anything but `true`. */
const CALL = /\bpg_(?:try_)?advisory_lock(?:_shared)?\s*\(|\bset_config\s*\((?![^()]*,\s*true\s*\))|\bINTO\s+TEMP/i;

/** Tells whether a statement leaves a setting, a lock or a temporary table on its connection after the transaction. */
export function changesSession(sql: string): boolean {
  return STATEMENT.test(sql.slice(LEAD.exec(sql)![0].length)) || CALL.test(sql);
}

export const NEEDS_A_SESSION =
  'This changes the session of a connection, and outside a transaction the next statement may run on another one, which strangers have used. Use SET LOCAL, ' +
  'pg_advisory_xact_lock or ON COMMIT DROP inside dataSource.transaction(...), or a query runner of your own ' +
  '(dataSource.createQueryRunner()), whose connection is closed when it is released';
