import { type KeyObject, randomBytes } from 'node:crypto';
import { existsSync, linkSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { JwtModuleOptions } from '@nestjs/jwt';
import type { CryptoKey, JWTHeaderParameters } from 'jose';
import { type Config, ConfigError } from '../config/config.js';
import { readSettingFile } from '../config/setting-file.js';
import { giveToFolderOwner, makePrivateFolder, PRIVATE_FILE } from '../database/sqlite/file/private-file.js';

export interface TokenKeys {
  /** The keys that may have signed a token with this header, by its algorithm and key id; likely keys come first. */
  candidates(header: JWTHeaderParameters): Iterable<KeyObject> | AsyncIterable<CryptoKey>;
  start?(): void;
  stop?(): void;
}

/** Tells whether a secret of this service signs the tokens, not an external issuer. */
export function signsTokens({ jwt: { secret, publicKeys, jwksUri, issuer, issuers } }: Config): boolean {
  return secret !== undefined || [publicKeys, jwksUri, issuer, issuers].every((value) => value === undefined);
}

/** The identity providers whose keys the service loads. That of `JWT_ISSUER` comes last. */
export function identityProviders(config: Config) {
  const { issuer, audience, scopeClaim, publicKeys, jwksUri, issuers = [] } = config.jwt;
  if (issuer === undefined || publicKeys !== undefined || signsTokens(config)) return issuers;
  return [...issuers, { issuer, audience, scopeClaim, jwksUri }];
}

/** The HS256 secret, in development a generated one; `undefined` if other services sign the tokens. */
export function tokenSecret(config: Config): string | undefined {
  if (!signsTokens(config)) return undefined;
  return config.jwt.secret ?? developmentSecret(developmentSecretFile(config));
}

/** The options of `JwtService`. Each call adds `sub` and `expiresIn` (seconds). It throws if there is no secret. */
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
  if (!existsSync(file)) makeSecret(file);
  const secret = readSettingFile(file).toString();
  const { length } = Buffer.from(secret);
  if (length < 32) throw new ConfigError([`the secret in ${file} has ${length} bytes, not 32: remove the file`]);
  return secret;
}

function makeSecret(file: string): void {
  makePrivateFolder(dirname(file));
  // A link to a complete draft: two processes that start together read the same complete secret.
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, randomBytes(32).toString('base64url'), { mode: PRIVATE_FILE, flush: true });
    giveToFolderOwner(draft, draft);
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
