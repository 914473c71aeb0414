import type { ClientConfig } from 'pg';
import type { Config } from '../../../config/config.js';
import type { PostgresUrl } from '../../../config/postgres-url.js';

/** TLS options for an `sslmode`, as in libpq (https://www.postgresql.org/docs/current/libpq-ssl.html). */
export function tlsOf({ sslMode, sslCa }: PostgresUrl & Config['database']): ClientConfig['ssl'] {
  if (sslMode === 'disable') return false;
  if (sslMode === 'verify-full') return { ca: sslCa };
  const checked = sslMode === 'verify-ca' || sslCa !== undefined;
  return checked ? { ca: sslCa, checkServerIdentity: () => undefined } : { rejectUnauthorized: false };
}
