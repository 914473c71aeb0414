import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../../config/config.js';
import { committed, engineOf, type Sql, transaction } from '../../database/engine.js';
import { Leases } from '../leases.js';
import { placeholders } from '../store/resource-table.js';
import { chainsOf, CONTENT_COLUMNS, hashOf, lockChain, seal } from './audit-lines.js';

const DAY = 24 * 3_600_000;
/** Maximum number of lines that one transaction deletes or seals: other requests wait for it. */
const STEP = 500;

/** Once a minute, seals the lines of other writers on SQLite; once a day, deletes lines that are too old. */
@Injectable()
export class AuditUpkeep implements OnApplicationBootstrap {
  private readonly logger = new Logger('Audit');

  constructor(
    private readonly dataSource: DataSource,
    private readonly leases: Leases,
    private readonly config: Config,
  ) {}

  onApplicationBootstrap(): void {
    this.leases.everyMinute(
      async (signal) => {
        await this.seal(signal);
        await this.prune(this.config.auditRetention * DAY);
      },
      ({ message }) => this.logger.warn(`The audit trail was not sealed, or old lines stay for now: ${message}`),
    );
  }

  async seal(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const chains = await chainsOf(committed(this.dataSource));
      let sealed = 0;
      for (const { resource } of chains.filter((chain) => chain.sealed < chain.sequence)) {
        sealed += await transaction(this.dataSource, (tx) => seal(this.dataSource, tx, resource, STEP));
      }
      // All lines have hashes, or lines without a hash are missing, which `cli audit verify` reports.
      if (sealed === 0) return;
    }
  }

  /** Deletes the lines that are older than `age` milliseconds. */
  async prune(age: number): Promise<void> {
    await this.leases.run({ name: 'prune-audit', every: DAY, batch: (tx) => this.pruneSome(tx, age) });
  }

  /** @returns whether there may be more lines to delete */
  private async pruneSome(tx: Sql, age: number): Promise<boolean> {
    const { now } = engineOf(this.dataSource).dialect;
    const [{ time }] = await tx.query<[{ time: number }]>(`SELECT ${now} AS time`, []);
    const before = new Date(time - age).toISOString();
    for (const { resource } of await chainsOf(tx)) {
      const [{ through }] = await tx.query<[{ through: number | null }]>(
        // Ends before the first line that stays: a clock that was wrong for a time wrote old times after newer ones.
        `WITH oldest AS (SELECT sequence, at FROM audit WHERE resource = ? AND operation <> 'prune'
           ORDER BY sequence LIMIT ${STEP})
         SELECT max(sequence) AS through FROM oldest
         WHERE sequence < coalesce((SELECT min(sequence) FROM oldest WHERE at >= ?), ${Number.MAX_SAFE_INTEGER})`,
        [resource, before],
      );
      if (through === null || !(await this.appendPruneLine(tx, resource, through, new Date(time)))) continue;
      await tx.sql`DELETE FROM audit WHERE resource = ${resource} AND sequence <= ${through}`;
      return true;
    }
    return false;
  }

  /** Writes a `prune` line. Only then may lines up to `through` be deleted. Returns `false` while lines lack a hash. */
  private async appendPruneLine(tx: Sql, resource: string, through: number, time: Date): Promise<boolean> {
    await seal(this.dataSource, tx, resource);
    const chain = await lockChain(this.dataSource, tx, resource);
    if (chain.sealed < chain.sequence) return false;
    const user = this.dataSource.options.type === 'postgres' ? 'session_user::text' : `'sqlite'`;
    const [{ databaseUser }] = await tx.query<[{ databaseUser: string }]>(`SELECT ${user} AS "databaseUser"`, []);
    const sequence = chain.sequence + 1;
    const change = { resource, sequence, at: time.toISOString(), operation: 'prune', record: '' } as const;
    const nobody = { issuer: null, subject: null, address: null, requestId: null };
    const line = { ...change, ...nobody, databaseUser, before: null, after: JSON.stringify({ through }) };
    const hash = hashOf(line, chain.hash);
    const values = [...Object.values(line), chain.hash, hash];
    await tx.query(
      `INSERT INTO audit (${CONTENT_COLUMNS.join(', ')}, previous, hash) VALUES (${placeholders(values)})`,
      values,
    );
    await tx.sql`UPDATE audit_chains SET sequence = ${sequence}, sealed = ${sequence}, hash = ${hash}
      WHERE resource = ${resource}`;
    return true;
  }
}
