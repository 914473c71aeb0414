import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { JWTPayload } from 'jose';
import type { DataSource } from 'typeorm';
import { transaction } from '../database/engine.js';
import { PolledTables } from '../database/polling/polled-tables.js';

/** Seconds by which clocks may differ. */
export const CLOCK_SKEW = 30;

/** Maximum number of rows, because every process keeps them in memory and polls the table. */
const MOST_ROWS = 10_000;

/** A revoked token (`jti`), or all tokens of a subject (`sub`) that were issued until now. */
export interface Revocation {
  readonly claim: 'jti' | 'sub';
  readonly value: string;
  /** Absent: of any issuer. */
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
 * Stores a revocation, and deletes those that are no longer needed. A repeated revocation counts from now.
 * @throws {Error} when the table is full
 */
export async function revoke(dataSource: DataSource, revocation: Revocation): Promise<void> {
  const { claim, value, issuer = '', lifetime } = revocation;
  const now = Math.floor(Date.now() / 1000);
  const expires = now + lifetime + 2 * CLOCK_SKEW;
  await transaction(dataSource, async (sql) => {
    await sql.sql`DELETE FROM revoked_tokens WHERE expires < ${now}`;
    const [count] = await sql.sql<{ rows: number }[]>`SELECT count(*) AS "rows" FROM revoked_tokens`;
    if (count!.rows >= MOST_ROWS) {
      throw new Error(`There are ${MOST_ROWS} revocations, which is the maximum: change the key of the tokens instead`);
    }
    await sql.sql`
      INSERT INTO revoked_tokens (claim, value, issuer, revoked, expires)
      VALUES (${claim}, ${value}, ${issuer}, ${now}, ${expires})
      ON CONFLICT (claim, value, issuer) DO UPDATE SET revoked = excluded.revoked, expires = excluded.expires`;
  });
}
