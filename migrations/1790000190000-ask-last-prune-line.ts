import type { MigrationInterface, QueryRunner } from 'typeorm';
import { NO_DELETION, POSTGRES_GUARD, POSTGRES_MAY_DELETE, SQLITE_DELETE } from './1790000170000-create-audit.js';

/**
 * Lets only the last `prune` line decide whether a line of the audit trail may be deleted: it names the largest
 * sequence. Before, each deletion read all `prune` lines, of which every day adds some.
 */
export class AskLastPruneLine1790000190000 implements MigrationInterface {
  up(queryRunner: QueryRunner): Promise<void> {
    return replaceGuard(queryRunner, { sqlite: SQLITE, postgres: POSTGRES });
  }

  down(queryRunner: QueryRunner): Promise<void> {
    return replaceGuard(queryRunner, { sqlite: SQLITE_DELETE, postgres: POSTGRES_GUARD });
  }
}

/** The sequence that the last `prune` line names, found by the index `audit_record`. */
const lastPruned = (through: string): string =>
  `coalesce((SELECT ${through} FROM audit
     WHERE resource = OLD.resource AND record = '' AND operation = 'prune' ORDER BY sequence DESC LIMIT 1), 0)`;

const POSTGRES = POSTGRES_GUARD.replace(
  POSTGRES_MAY_DELETE,
  () => `OLD.sequence <= ${lastPruned("(after::json ->> 'through')::bigint")}`,
);

const SQLITE = `CREATE TRIGGER audit_delete BEFORE DELETE ON audit
   WHEN OLD.sequence > ${lastPruned(`json_extract("after", '$.through')`)}
   BEGIN SELECT RAISE(ABORT, '${NO_DELETION}'); END`;

async function replaceGuard(queryRunner: QueryRunner, guards: { sqlite: string; postgres: string }): Promise<void> {
  if (queryRunner.dataSource.options.type === 'postgres') {
    await queryRunner.query(guards.postgres);
    return;
  }
  await queryRunner.query('DROP TRIGGER audit_delete');
  await queryRunner.query(guards.sqlite);
}
