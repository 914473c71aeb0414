import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { compile } from '@fastify/proxy-addr';
import { parsePostgresUrl, type PostgresUrl } from './postgres-url.js';
import { type Parse, problemOf, withMessage } from './setting.js';

export function integer(min: number, max: number): Parse<number> {
  return (value) => {
    const number = Number(value);
    if (!/^(0|[1-9][0-9]*)$/.test(value) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return number;
  };
}

const MOST_WORKERS = 64;

/** The number of worker processes; `auto` means one for each core that this process may use. */
export const workers: Parse<number> = (value) => {
  if (value === 'auto') return Math.min(availableParallelism(), MOST_WORKERS);
  return withMessage(
    (reason) => `${reason}, or auto`,
    () => integer(1, MOST_WORKERS)(value),
  );
};

/** Text that is compared as a whole, so that white space or quotes around it would never match. */
export const text: Parse<string> = (value) => {
  if (/^\s|\s$|^(["']).*\1$/s.test(value)) {
    throw new Error(`must have no white space or quotes around it; it is ${JSON.stringify(value)}`);
  }
  return value;
};

export const boolean: Parse<boolean> = (value) => {
  if (value !== 'true' && value !== 'false') throw new Error('must be "true" or "false"');
  return value === 'true';
};

export function oneOf<const T extends readonly string[]>(allowed: T): Parse<T[number]> {
  return (value) => {
    if (!allowed.includes(value)) throw new Error(`must be one of ${allowed.join(', ')}`);
    return value;
  };
}

export const address: Parse<string> = (value) => {
  if (isIP(value) === 0) throw new Error('must be an IPv4 or IPv6 address');
  return value;
};

/** A token in the syntax of `Authorization: Bearer` (RFC 6750 section 2.1). */
export const bearerToken: Parse<string> = (value) => {
  if (!/^[A-Za-z0-9._~+/-]{16,}=*$/.test(value)) {
    throw new Error('must be at least 16 letters, digits or characters of "-._~+/", and perhaps "=" at the end');
  }
  return value;
};

export type DatabaseUrl = { readonly engine: 'sqlite'; readonly path: string } | PostgresUrl;

export const databaseUrl: Parse<DatabaseUrl> = (value) => {
  if (/^postgres(ql)?:/.test(value)) return parsePostgresUrl(value);
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/s.exec(value)?.[1];
  if (path === undefined)
    throw new Error('must be "sqlite:" and the path of a file, or "postgres://user:password@host:5432/database"');
  // better-sqlite3 would open the file without the white space, such as the CR of a Windows line end.
  if (path !== path.trim() || path === ':memory:' || path.startsWith('//') || path.endsWith('/') || /[?#]/.test(path)) {
    throw new Error(
      'must name a file on this machine, such as sqlite:./data/service.sqlite, without options (?, #) and without white space around it',
    );
  }
  return { engine: 'sqlite', path };
};

export const certificates: Parse<string> = (value) => {
  // In environment files, line ends of a PEM are often written as \n.
  const pem = value.replaceAll('\\n', '\n');
  withMessage('is not a PEM certificate', () => new X509Certificate(pem));
  return pem;
};

function list(value: string, isItem: (item: string) => boolean, items: string): string[] {
  return value.split(',').map((text) => {
    const item = text.trim();
    if (!isItem(item)) throw new Error(`must be a comma-separated list of ${items}; "${item}" is not one`);
    return item;
  });
}

export const origins: Parse<string[]> = (value) =>
  list(
    value,
    isOrigin,
    'origins as browsers send them (scheme and host in lower case, the port unless it is the default, no path, no wildcard)',
  );

/** Tells whether browsers send this text as `Origin`. For the schemes of apps (`capacitor:`), Node's origin is "null". */
function isOrigin(text: string): boolean {
  if (!URL.canParse(text) || text.includes('*')) return false;
  const { origin, protocol, host } = new URL(text);
  return text === (origin === 'null' && host !== '' ? `${protocol}//${host}` : origin);
}

export const trustedProxies: Parse<false | string[]> = (value) =>
  value !== 'false' &&
  list(value, isNetwork, 'addresses, networks (at least /1), "loopback", "linklocal" or "uniquelocal", or "false"');

/** Tells whether Fastify accepts the text, which is no short form of an address: `1` would be 0.0.0.1. */
function isNetwork(text: string): boolean {
  const isAccepted = problemOf(() => compile(text)) === undefined;
  return isAccepted && (isIP(text.split('/', 1)[0]!) !== 0 || /^[a-z]+$/.test(text));
}

/** RFC 7519 section 4.1. */
const REGISTERED_CLAIMS = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'];

/** Claims, each a path of names, or a URL, which names one claim; several are separated by commas. */
export const claimPaths: Parse<string[][]> = (value) => {
  const claims = value.split(',').map((claim) => claim.trim());
  const paths = claims.map((claim) => (claim.includes('://') ? [claim] : claim.split('.')));
  if (paths.flat().some((name) => name === '' || /["']/.test(name))) {
    throw new Error('must be claim names without quotes, joined by single dots; commas separate claims');
  }
  const registered = paths.map(([name]) => name!).find((name) => REGISTERED_CLAIMS.includes(name));
  if (registered !== undefined) throw new Error(`must not be "${registered}", which has another meaning (RFC 7519)`);
  return paths;
};

/** The address of a collector of traces. It may be in a private network, so `http:` is accepted. */
export const collectorUrl: Parse<URL> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === undefined || !isHttp || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new Error('must be an http: or https: URL without user, query and fragment');
  }
  return url;
};
