import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { JwtModuleOptions } from '@nestjs/jwt';
import type { Config } from '../config/config.js';
import { giveToFolderOwner, makePrivateFolder, PRIVATE_FILE } from '../database/sqlite/file/private-file.js';

/** The key that verifies tokens, and the algorithms for its type (RFC 8725 section 3.1). */
export interface VerificationKey {
  readonly key: KeyObject;
  readonly algorithms: string[];
}

/** The configured key or, in development, the generated secret. */
export function verificationKey(config: Config): VerificationKey {
  return config.jwt.publicKey ?? { key: createSecretKey(Buffer.from(tokenSecret(config)!)), algorithms: ['HS256'] };
}

/** The HS256 secret; `undefined` with a public key, whose tokens another service signs. */
export function tokenSecret(config: Config): string | undefined {
  const { secret, publicKey } = config.jwt;
  if (publicKey !== undefined) return undefined;
  return secret ?? developmentSecret(developmentSecretFile(config));
}

/** The options of `JwtService`. Each call adds `sub` and `expiresIn` (seconds); signing throws if there is no secret. */
export function signingOptions(config: Config): JwtModuleOptions {
  const { issuer, audience } = config.jwt;
  const claims = { ...(issuer && { issuer }), ...(audience && { audience }) };
  return { secret: tokenSecret(config), signOptions: { algorithm: 'HS256', ...claims } };
}

/** The file of the development secret: beside the SQLite file, or in `data` with PostgreSQL. */
export function developmentSecretFile({ database: { url } }: Config): string {
  return join(url.engine === 'sqlite' ? dirname(url.path) : 'data', 'jwt-secret');
}

function developmentSecret(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  makePrivateFolder(dirname(file));
  // Written to a draft and linked, so that two processes that start together read the same complete secret.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, randomBytes(32).toString('base64url'), { mode: PRIVATE_FILE });
  giveToFolderOwner(draft, draft);
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
  return readFileSync(file, 'utf8');
}
