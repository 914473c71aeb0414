import { FLAVORS, MAX_ID, SIZES } from './contract.js';
import type { Random } from './random.js';
import type { Tokens } from './message.js';

/** The expected response to an invalid request. */
export interface Rejection {
  readonly status: number;
  readonly errorCode?: string;
  /** Methods in `Allow`. */
  readonly allow?: string;
}

/** An unfinished request. */
export interface Draft {
  method: string;
  path: string;
  query: [name: string, value: string][];
  authorization?: string;
  contentType?: string;
  headers: Record<string, string>;
  body?: string;
}

/** Methods in `Allow`. */
export const ALLOW = { collection: 'GET, HEAD, OPTIONS, POST', record: 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT' };

const NO_ROUTES = ['/', '/cookie', '/cookies/', '/cookies/1/', '/cookies/1/2', '/Cookies', '//cookies', '/cookies//1'];

const OTHER_METHODS = ['PUT', 'PATCH', 'DELETE', 'POST', 'TRACE', 'PROPFIND', 'LOCK'];

const WRONG_IDS = [...'0 -1 +1 01 1.0 1e3 0x1 %201 a 1%00 1,2 %D9%A1'.split(' '), String(MAX_ID + 1n)];

/** Names and values. */
const WRONG_QUERIES = [
  'limit=0 limit=01 limit=1001 limit= limit[]=1 after=-1 after=9007199254740992',
  'sort=flavor flavor=Vanilla size= colour=red __proto__=1',
]
  .flatMap((line) => line.split(' '))
  .map((pair) => pair.split('=') as [string, string]);

const WRONG_TYPES = ['text/plain', 'application/json; charset=latin1', 'application/x-www-form-urlencoded', 'json', ''];

const BODY_LIMIT = 16 * 1024;

const hasBody = ({ method }: Draft): boolean => ['POST', 'PUT', 'PATCH'].includes(method);

const allowOf = ({ path }: Draft): string => (path === '/cookies' ? ALLOW.collection : ALLOW.record);

/**
 * Makes a request invalid in some ways that the service rejects without reading records, in the service's order.
 * @returns the first rejection
 */
export function spoil(draft: Draft, random: Random, tokens: Tokens): Rejection | undefined {
  let first: Rejection | undefined;
  for (const stage of [route, method, size, credentials, scope, target, query, mediaType]) {
    const rejection = stage(draft, random, tokens);
    first ??= rejection;
  }
  return first;
}

type Stage = (draft: Draft, random: Random, tokens: Tokens) => Rejection | undefined;

const route: Stage = (draft, random) => {
  if (!random.chance(0.02)) return undefined;
  draft.path = random.pick(NO_ROUTES);
  return { status: 404, errorCode: 'NOT_FOUND' };
};

const method: Stage = (draft, random) => {
  if (!random.chance(0.02)) return undefined;
  const allow = allowOf(draft);
  const wrong = random.pick(OTHER_METHODS);
  if (allow.split(', ').includes(wrong)) return undefined;
  draft.method = wrong;
  if (!hasBody(draft)) draft.body = undefined;
  return { status: 405, errorCode: 'METHOD_NOT_ALLOWED', allow };
};

const size: Stage = (draft, random) => {
  if (!hasBody(draft) || !random.chance(0.01)) return undefined;
  draft.body = (draft.body ?? '').padEnd(BODY_LIMIT + random.between(1, 20_000));
  return { status: 413, errorCode: 'PAYLOAD_TOO_LARGE' };
};

const credentials: Stage = (draft, random, { both, forged }) => {
  if (!random.chance(0.04)) return undefined;
  const wrong = [`Bearer ${forged}`, 'Bearer a.b.c', `Basic ${both}`, 'Bearer', `Bearer ${both} x`, `Bearer ${both}.`];
  draft.authorization = random.pick([undefined, ...wrong]);
  return { status: 401 };
};

const scope: Stage = (draft, random, { both, read, write }) => {
  if (draft.authorization !== `Bearer ${both}` || !random.chance(0.04)) return undefined;
  const isRead = ['GET', 'HEAD'].includes(draft.method);
  draft.authorization = `Bearer ${isRead ? write : read}`;
  return { status: 403, errorCode: 'INSUFFICIENT_SCOPE' };
};

const target: Stage = (draft, random) => {
  if (!/^\/cookies\/\d+$/.test(draft.path) || !random.chance(0.05)) return undefined;
  draft.path = `/cookies/${random.pick(WRONG_IDS)}`;
  return { status: 400, errorCode: 'INVALID_REQUEST' };
};

const query: Stage = (draft, random) => {
  if (!random.chance(0.05)) return undefined;
  draft.query.push(random.pick(WRONG_QUERIES));
  return { status: 400, errorCode: 'INVALID_REQUEST' };
};

const mediaType: Stage = (draft, random) => {
  if (!hasBody(draft) || !random.chance(0.04)) return undefined;
  const wrong = draft.method === 'PATCH' ? ['text/plain'] : [...WRONG_TYPES, 'application/merge-patch+json'];
  if (random.chance(0.2)) draft.headers['content-encoding'] = 'gzip';
  else draft.contentType = random.pick(wrong);
  return { status: 415, errorCode: 'UNSUPPORTED_MEDIA_TYPE' };
};

/** A valid query of a list. */
export function listQuery(random: Random, someId: number): [string, string][] {
  const query: [string, string][] = [];
  if (random.chance(0.7)) query.push(['limit', String(random.pick([1, 2, 3, 10, 100, 1000]))]);
  if (random.chance(0.4)) query.push(['after', String(random.pick([0, someId, random.below(100)]))]);
  if (random.chance(0.3)) query.push(['sort', random.pick(['id', '-id'])]);
  if (random.chance(0.2)) query.push(['flavor', random.pick(FLAVORS)]);
  if (random.chance(0.2)) query.push(['size', random.pick(SIZES)]);
  return query;
}
