import type { DataSource } from 'typeorm';
import type { Sql } from '../../database/engine.js';
import type { Actor } from './actor.js';
import { seal } from './audit-lines.js';
import { ACTORS_SETTING } from './audit-triggers.js';

/** Tells the audit triggers the actors of the writes of one transaction. */
export class AuditedWrites {
  private readonly isPostgres = this.dataSource.options.type === 'postgres';

  constructor(
    private readonly dataSource: DataSource,
    private readonly resource: string,
    private readonly transaction: Sql,
  ) {}

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
