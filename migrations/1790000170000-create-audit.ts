import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { dropAuditTriggers } from '../src/resource/audit/audit-triggers.js';

const TEXTS = ['issuer', 'subject', 'address', 'request_id'];

/**
 * Creates the tables of the audit trail. Their triggers reject changes of lines, and deletions of lines that no `prune`
 * line names. The start makes the triggers of audited tables, which write the lines.
 */
export class CreateAudit1790000170000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'audit',
        columns: [
          { name: 'resource', type: 'varchar', isPrimary: true },
          { name: 'sequence', type: 'integer', isPrimary: true },
          { name: 'at', type: 'varchar' },
          { name: 'operation', type: 'varchar' },
          { name: 'record', type: 'varchar' },
          ...TEXTS.map((name) => ({ name, type: 'varchar', isNullable: true })),
          { name: 'database_user', type: 'varchar' },
          ...['before', 'after'].map((name) => ({ name, type: 'text', isNullable: true })),
          ...['previous', 'hash'].map((name) => ({ name, type: 'varchar', isNullable: true })),
        ],
        indices: [{ name: 'audit_record', columnNames: ['resource', 'record', 'sequence'] }],
      }),
    );
    await queryRunner.createTable(
      new Table({
        name: 'audit_chains',
        columns: [
          { name: 'resource', type: 'varchar', isPrimary: true },
          { name: 'sequence', type: 'integer' },
          { name: 'sealed', type: 'integer' },
          { name: 'hash', type: 'varchar' },
        ],
      }),
    );
    const guards = queryRunner.dataSource.options.type === 'postgres' ? POSTGRES : SQLITE;
    for (const sql of guards) await queryRunner.query(sql);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    const chains = (await queryRunner.query('SELECT resource FROM audit_chains')) as { resource: string }[];
    for (const { resource } of chains) await dropAuditTriggers(queryRunner, queryRunner.dataSource, resource);
    const isPostgres = queryRunner.dataSource.options.type === 'postgres';
    for (const name of ['audit', 'audit_chains']) await queryRunner.dropTable(name);
    await queryRunner.query(isPostgres ? 'DROP FUNCTION audit_guard()' : 'DROP TABLE audit_actors');
  }
}

const CONTENT = ['resource', 'sequence', 'at', 'operation', 'record', ...TEXTS, 'database_user', 'before', 'after'];
const columns = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');
const refuse = (message: string): string => `BEGIN SELECT RAISE(ABORT, '${message}'); END`;
const NO_CHANGE = 'Lines of the audit trail cannot be changed';
export const NO_DELETION = 'Lines of the audit trail cannot be deleted before a line prune names them';

export const SQLITE_DELETE = `CREATE TRIGGER audit_delete BEFORE DELETE ON audit WHEN NOT EXISTS (
     SELECT 1 FROM audit WHERE resource = OLD.resource AND record = '' AND operation = 'prune'
     AND json_extract("after", '$.through') >= OLD.sequence) ${refuse(NO_DELETION)}`;

/** `audit_actors` has the actors of the current statement: by revision of the new record, 0 for all rows. */
const SQLITE = [
  'CREATE TABLE audit_actors (revision integer PRIMARY KEY, issuer text, subject text, address text, request_id text)',
  `CREATE TRIGGER audit_insert BEFORE INSERT ON audit
   WHEN NEW.sequence IS NOT (SELECT sequence + 1 FROM audit_chains WHERE resource = NEW.resource)
   ${refuse('A line of the audit trail must have the next sequence')}`,
  `CREATE TRIGGER audit_inserted AFTER INSERT ON audit BEGIN
   UPDATE audit_chains SET sequence = NEW.sequence WHERE resource = NEW.resource; END`,
  `CREATE TRIGGER audit_update BEFORE UPDATE OF ${columns(CONTENT)} ON audit ${refuse(NO_CHANGE)}`,
  `CREATE TRIGGER audit_seal BEFORE UPDATE OF previous, hash ON audit WHEN OLD.hash IS NOT NULL ${refuse(NO_CHANGE)}`,
  SQLITE_DELETE,
  `CREATE TRIGGER audit_chains_delete BEFORE DELETE ON audit_chains ${refuse('Chains of the audit trail cannot be deleted')}`,
];

const guard = (table: string, events: string, each: string): string =>
  `CREATE TRIGGER ${table}_guard_${each} BEFORE ${events} ON ${table} FOR EACH ${each} EXECUTE FUNCTION audit_guard()`;

/** The condition of PostgreSQL under which a line may be deleted. */
export const POSTGRES_MAY_DELETE = `EXISTS (SELECT FROM audit WHERE resource = OLD.resource AND record = '' AND operation = 'prune'
               AND (after::json ->> 'through')::bigint >= OLD.sequence)`;

export const POSTGRES_GUARD = `CREATE OR REPLACE FUNCTION audit_guard() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $guard$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF pg_trigger_depth() > 1 OR NEW.operation = 'prune' THEN
      RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Lines of the audit trail are written by triggers only';
  ELSIF TG_OP = 'UPDATE' THEN
    RAISE EXCEPTION '${NO_CHANGE}';
  ELSIF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'audit' THEN
    IF ${POSTGRES_MAY_DELETE} THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION '${NO_DELETION}';
END $guard$`;

const POSTGRES = [
  POSTGRES_GUARD,
  guard('audit', 'INSERT OR UPDATE OR DELETE', 'ROW'),
  guard('audit', 'TRUNCATE', 'STATEMENT'),
  guard('audit_chains', 'DELETE', 'ROW'),
  guard('audit_chains', 'TRUNCATE', 'STATEMENT'),
];
