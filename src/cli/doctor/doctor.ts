import { existsSync, statSync } from 'node:fs';
import { JwtService } from '@nestjs/jwt';
import { loadedKeySet } from '../../auth/remote-keys.js';
import { developmentSecretFile, identityProviders, signingOptions, signsTokens } from '../../auth/token-key.js';
import { type Config, ConfigError, loadConfigFromProcess } from '../../config/config.js';
import { readTlsFiles } from '../../config/tls-files.js';
import { SETTINGS } from '../../features.js';
import { reasonOf } from '../../logging/reason.js';
import { Failure } from '../command-errors.js';
import { type Checks, sqliteChecks } from './doctor-sqlite.js';
import { fixCounters, server, storageChecks } from './doctor-storage.js';

export async function doctor({ fix }: { fix?: true }): Promise<void> {
  const config = settings();
  const { url, backupFolder } = config.database;
  const checks: Checks = {
    ...(fix && { fix: () => fixCounters(config, (line) => print('FIX ', 'counter', line)) }),
    keys,
    ...(identityProviders(config).length > 0 && { 'key sets': keySets }),
    clock,
    ...(config.tls.certFile !== undefined && { certificate }),
    ...(url.engine === 'sqlite' ? sqliteChecks(url.path, backupFolder) : { server }),
    ...storageChecks,
  };
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      print('ok  ', name, await check(config));
    } catch (error) {
      failed++;
      print('FAIL', name, error instanceof ConfigError ? error.errors.join('; ') : (error as Error).message);
    }
  }
  if (failed > 0) throw new Failure(`${failed} of ${Object.keys(checks).length + 1} checks failed.`);
}

function settings(): Config {
  try {
    const config = loadConfigFromProcess(SETTINGS);
    print('ok  ', 'settings', config.environment);
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const line of error.errors) print('FAIL', 'settings', line);
    throw new Failure('Correct the settings first; the other checks need them.', error);
  }
}

function print(outcome: 'ok  ' | 'FAIL' | 'FIX ', name: string, detail: string): void {
  console.log(`${outcome}  ${name.padEnd(15)}  ${detail}`);
}

/** Milliseconds by which the time of a file may be ahead of the clock, because of rounding. */
const TOLERANCE = 60_000;

/** Signs and verifies a token with the key. The configuration has checked its length and kind. */
async function keys(config: Config): Promise<string> {
  const { secret, publicKeys } = config.jwt;
  if (publicKeys !== undefined) {
    const algorithms = publicKeys.map((key) => key.algorithms.join(', '));
    return `tokens are verified with ${algorithms.length > 1 ? 'public keys' : 'a public key'} (${algorithms.join('; ')})`;
  }
  if (!signsTokens(config)) return 'tokens are verified with the keys of identity providers';
  const file = developmentSecretFile(config);
  if (secret === undefined && !existsSync(file)) return `the first start makes a secret in ${file}`;
  const jwt = new JwtService(signingOptions(config));
  await jwt.verifyAsync(await jwt.signAsync({}));
  return `a token is signed and verified with ${secret === undefined ? `the secret in ${file}` : 'the secret'}`;
}

async function keySets(config: Config): Promise<string> {
  const providers = identityProviders(config);
  const loads = await Promise.allSettled(providers.map(({ issuer, jwksUri }) => loadedKeySet(issuer, jwksUri)));
  const problems = loads.flatMap((load) => (load.status === 'rejected' ? reasonOf(load.reason as Error) : []));
  if (problems.length === 0) return `those of ${providers.map(({ issuer }) => issuer).join(', ')} can be loaded`;
  const remedy = 'correct JWT_ISSUER, JWT_JWKS_URI or JWT_ISSUERS, or the way to the provider (DNS, proxy, firewall)';
  throw new Error(`${problems.join('; ')}: ${remedy}`);
}

/** Checks that the certificate of the API port has not expired. The configuration has checked the rest. */
function certificate({ tls: { certFile, keyFile } }: Config): string {
  const { expires } = readTlsFiles(certFile!, keyFile!);
  const time = expires.toISOString();
  if (expires.getTime() > Date.now()) return `${certFile} is valid until ${time}`;
  throw new Error(`${certFile} expired at ${time}: replace it, and ${keyFile}`);
}

/** Checks that the clock is not behind the times of existing files: tokens expire by the clock. */
function clock({ database: { url } }: Config): string {
  const now = Date.now();
  const time = new Date(now).toISOString();
  const program = process.argv[1]!;
  const files = url.engine === 'sqlite' ? [program, url.path, `${url.path}-wal`] : [program];
  for (const file of files) {
    const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (written <= now + TOLERANCE) continue;
    const later = new Date(written).toISOString();
    throw new Error(`it is ${time}, but ${file} was written ${later}: set the clock (NTP)`);
  }
  return time;
}
