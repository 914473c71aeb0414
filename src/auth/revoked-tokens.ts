import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { JWTPayload } from 'jose';
import type { DataSource } from 'typeorm';
import { engineOf, type Sql, transaction } from '../database/engine.js';
import { PolledTables } from '../database/polling/polled-tables.js';

/** Seconds by which clocks may differ. */
export const CLOCK_SKEW = 30;

/** Maximum number of rows, because every process keeps them in memory and polls the table. */
const MOST_ROWS = 10_000;

/** A revoked token (`jti`), or all tokens of a subject (`sub`) that were issued until now. */
export interface Revocation {
  readonly claim: 'jti' | 'sub';
  readonly value: string;
  /** Issuer of the tokens; absent for all issuers. */
  readonly issuer?: string;
  /** Seconds from now until all tokens that are valid now have expired; then the row may be deleted. */
  readonly lifetime: number;
}

const keyOf = (claim: string, value: unknown, issuer: unknown): string => JSON.stringify([claim, value, issuer]);

/** The revoked tokens of the table `revoked_tokens`. During an outage of the database, the last rows stay in force. */
@Injectable()
export class RevokedTokens implements OnModuleInit {
  onChange: () => void = () => {};
  /** The times of revocation in seconds, by claim, value and issuer. */
  private times: ReadonlyMap<string, number> = new Map();

  constructor(private readonly polled: PolledTables) {}

  async onModuleInit(): Promise<void> {
    await this.polled.watch({
      name: 'revoked_tokens',
      columns: ['claim', 'value', 'issuer', 'revoked'],
      onChange: (rows) => {
        this.times = new Map(rows.map((row) => [keyOf(row.claim, row.value, row.issuer), Number(row.revoked)]));
        this.onChange();
      },
    });
  }

  includes({ jti, sub, iss, iat }: JWTPayload): boolean {
    if (this.times.size === 0) return false;
    return ['', iss].some((issuer) => {
      // Some issuers write a number, which a revocation names as text.
      if (jti !== undefined && this.times.has(keyOf('jti', String(jti), issuer))) return true;
      const revoked = this.times.get(keyOf('sub', sub, issuer));
      if (revoked === undefined || iat === undefined) return revoked !== undefined;
      // A token that seems to be issued in the future may be older than the revocation.
      return iat <= revoked + CLOCK_SKEW || iat > Date.now() / 1000 + CLOCK_SKEW;
    });
  }
}

/**
 * Stores a revocation, and deletes those that are no longer needed. A repeated revocation counts from now, by the clock
 * of the database, unless an earlier one reaches further.
 * @returns seconds since 1970 until which tokens are revoked
 * @throws {Error} when the table is full
 */
export function revoke(dataSource: DataSource, { claim, value, issuer = '', lifetime }: Revocation): Promise<number> {
  const revocation = async ({ query, sql }: Sql): Promise<number> => {
    const [{ now }] = await query<[{ now: number }]>(`SELECT ${engineOf(dataSource).dialect.now} / 1000 AS now`, []);
    await sql`DELETE FROM revoked_tokens WHERE expires < ${now}`;
    const [count] = await sql<{ rows: number }[]>`SELECT count(*) AS "rows" FROM revoked_tokens`;
    if (count!.rows >= MOST_ROWS) {
      throw new Error(`There are ${MOST_ROWS} revocations, which is the maximum: change the key of the tokens instead`);
    }
    const [{ revoked }] = await sql<[{ revoked: number }]>`
      INSERT INTO revoked_tokens AS stored (claim, value, issuer, revoked, expires)
      VALUES (${claim}, ${value}, ${issuer}, ${now}, ${now + lifetime + 2 * CLOCK_SKEW})
      ON CONFLICT (claim, value, issuer) DO UPDATE SET
        revoked = CASE WHEN excluded.revoked > stored.revoked THEN excluded.revoked ELSE stored.revoked END,
        expires = CASE WHEN excluded.expires > stored.expires THEN excluded.expires ELSE stored.expires END
      RETURNING revoked`;
    return revoked;
  };
  // A token can be revoked on a full volume, too.
  return transaction(dataSource, revocation, { reclaimsSpace: true });
}
