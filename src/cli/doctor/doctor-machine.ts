import { createSecretKey } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { SignJWT } from 'jose/jwt/sign';
import { jwtVerify } from 'jose/jwt/verify';
import { developmentSecretFile } from '../../auth/token-key.js';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import type { Config } from '../../config/config.js';

/** Milliseconds by which the time of a file may be ahead of the clock, because of rounding. */
const TOLERANCE = 60_000;

/** Checks that the native module of SQLite loads. */
export function nativeModule(): string {
  const database = openDatabase(':memory:');
  const version = database.prepare('SELECT sqlite_version()').pluck().get() as string;
  database.close();
  return `better-sqlite3 with SQLite ${version}, Node ${process.version}`;
}

/** Signs and verifies a token with the key. The configuration has checked its length and kind. */
export async function keys(config: Config): Promise<string> {
  const { secret, publicKey } = config.jwt;
  if (publicKey !== undefined) return `tokens are verified with a public key (${publicKey.algorithms.join(', ')})`;
  const file = developmentSecretFile(config);
  if (secret === undefined && !existsSync(file)) return `the first start makes a secret in ${file}`;
  const bytes = Buffer.from(secret ?? readFileSync(file));
  if (bytes.length < 32) throw new Error(`the secret in ${file} has ${bytes.length} bytes, not 32: remove the file`);
  const hmac = createSecretKey(bytes);
  await jwtVerify(await new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).sign(hmac), hmac);
  return `a token is signed and verified with ${secret === undefined ? `the secret in ${file}` : 'the secret'}`;
}

/** Checks that the clock is not behind the times of existing files: tokens expire by the clock. */
export function clock({ database: { url } }: Config): string {
  const now = Date.now();
  const program = process.argv[1]!;
  const files = url.engine === 'sqlite' ? [program, url.path, `${url.path}-wal`] : [program];
  for (const file of files) {
    const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (written > now + TOLERANCE) {
      throw new Error(
        `it is ${new Date(now).toISOString()}, but ${file} was written ${new Date(written).toISOString()}: set the clock (NTP)`,
      );
    }
  }
  return new Date(now).toISOString();
}

export function firstLine(error: unknown): string {
  return (error as Error).message.split('\n')[0]!;
}
