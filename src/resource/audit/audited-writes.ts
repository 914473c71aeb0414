import type { DataSource } from 'typeorm';
import { engineOf, type Sql } from '../../database/engine.js';
import type { Actor } from './actor.js';
import { hashOf, readLines } from './audit-lines.js';
import { ACTORS_SETTING } from './audit-triggers.js';
import type { AuditChain } from './audit.entity.js';

/** Tells the audit triggers the actors of the writes of one transaction. */
export class AuditedWrites {
  private readonly isPostgres: boolean;

  constructor(
    private readonly dataSource: DataSource,
    private readonly resource: string,
    private readonly transaction: Sql,
  ) {
    this.isPostgres = dataSource.options.type === 'postgres';
  }

  /** Runs writes and seals their lines. `setActors` names the actors before each statement. */
  async run<T>(write: () => Promise<T>): Promise<T> {
    if (this.isPostgres) return write();
    let result: T;
    try {
      result = await write();
    } catch (error) {
      // If the transaction has ended, the database has forgotten the actors.
      await this.forgetActors().catch(() => undefined);
      throw error;
    }
    await this.forgetActors();
    await seal(this.dataSource, this.transaction, this.resource);
    return result;
  }

  /** Sets the actors of the rows that the next statement inserts, by their revisions; 0 for all rows it changes. */
  setActors(actors: readonly (readonly [revision: number, actor: Actor])[]): Promise<unknown> {
    const statement = this.isPostgres
      ? `SELECT set_config('${ACTORS_SETTING}', ?, true)`
      : `INSERT OR REPLACE INTO audit_actors (revision, issuer, subject, address, request_id)
         SELECT CAST(key AS integer), value ->> 'issuer', value ->> 'subject', value ->> 'address', value ->> 'requestId'
         FROM json_each(?)`;
    return this.transaction.query(statement, [JSON.stringify(Object.fromEntries(actors))]);
  }

  private forgetActors(): Promise<unknown> {
    return this.transaction.query('DELETE FROM audit_actors', []);
  }
}

/** Maximum number of lines that one call of `seal` seals: more than the largest statement of an import writes. */
const MOST_LINES = 10_000;

/**
 * Gives hashes to the lines without one, in order, because SQLite's triggers cannot. Lines of other writers are sealed
 * by the next write of the service or by `AuditUpkeep`.
 */
export async function seal(dataSource: DataSource, transaction: Sql, resource: string): Promise<void> {
  const { sealed, hash } = await lockChain(dataSource, transaction, resource);
  const lines = await readLines(transaction, { resource, after: sealed }, MOST_LINES);
  if (lines.length === 0) return;
  let previous = hash;
  for (const line of lines) {
    const next = hashOf(line, previous);
    await transaction.query('UPDATE audit SET previous = ?, hash = ? WHERE resource = ? AND sequence = ?', [
      ...[previous, next],
      ...[resource, line.sequence],
    ]);
    previous = next;
  }
  await transaction.query('UPDATE audit_chains SET sealed = ?, hash = ? WHERE resource = ?', [
    lines.at(-1)!.sequence,
    previous,
    resource,
  ]);
}

/**
 * Locks the row of a resource in `audit_chains`.
 * @throws {Error} when it is missing
 */
export async function lockChain(dataSource: DataSource, transaction: Sql, resource: string): Promise<AuditChain> {
  const { dialect } = engineOf(dataSource);
  const [chain] = await transaction.query<AuditChain[]>(
    `SELECT resource, sequence, sealed, hash FROM audit_chains WHERE resource = ?${dialect.forUpdate('audit_chains')}`,
    [resource],
  );
  if (chain === undefined) throw new Error(`The table "audit_chains" has no row for ${resource}: restore a backup`);
  return chain;
}
