import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { JwtModuleOptions } from '@nestjs/jwt';
import type { Config } from '../config/config.js';
import { giveToFolderOwner, makePrivateFolder, PRIVATE_FILE } from '../database/sqlite/file/private-file.js';

/** The verification key and its allowed algorithms (RFC 8725 section 3.1). */
export interface VerificationKey {
  readonly key: KeyObject;
  readonly algorithms: string[];
}

/** The key that the configuration names or, in development, the one made on first use. */
export function verificationKey(config: Config): VerificationKey {
  return config.jwt.publicKey ?? { key: createSecretKey(Buffer.from(tokenSecret(config)!)), algorithms: ['HS256'] };
}

/** The HS256 secret; `undefined` when tokens are signed elsewhere, with the private half of a public key. */
export function tokenSecret(config: Config): string | undefined {
  const { secret, publicKey } = config.jwt;
  if (publicKey !== undefined) return undefined;
  return secret ?? developmentSecret(developmentSecretFile(config));
}

/**
 * What `JwtService` signs with: a token needs `sub` and `exp` (`expiresIn`, in seconds) of its own. It throws where tokens are signed elsewhere.
 */
export function signingOptions(config: Config): JwtModuleOptions {
  const { issuer, audience } = config.jwt;
  const claims = { ...(issuer && { issuer }), ...(audience && { audience }) };
  return { secret: tokenSecret(config), signOptions: { algorithm: 'HS256', ...claims } };
}

/** Where a development start keeps its secret: beside the database file, in `data` where there is none. */
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
  // Written aside and linked into place, so that of two processes that start together both read the same whole secret.
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
