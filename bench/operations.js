import { randomUUID } from 'node:crypto';

const COOKIE = { flavor: 'vanilla', size: 'small', wish: 'May your tests be green' };
const FLAVORS = ['chocolate', 'vanilla', 'cinnamon'];
const SIZES = ['small', 'medium', 'large'];

const anyCookie = ({ records }) => `/cookies/${1 + Math.floor(Math.random() * records)}`;
const list = { method: 'GET', path: '/cookies' };
const read = { method: 'GET', path: anyCookie };
const create = { method: 'POST', path: '/cookies', body: COOKIE };
// Each PUT goes to the next record, and each round has new values, so that each request changes its record.
const replace = {
  method: 'PUT',
  path: ({ records, turn }) => `/cookies/${1 + (turn % records)}`,
  body: ({ records, turn }) => {
    const pass = Math.floor(turn / records);
    return { flavor: FLAVORS[pass % 3], size: SIZES[Math.floor(pass / 3) % 3] };
  },
};
const remove = { method: 'DELETE', path: ({ id }) => `/cookies/${id}` };
const mixed = [...Array.from({ length: 7 }, () => read), replace, { ...create, keepsId: true }, remove];

/**
 * The requests of one connection, repeated, and their expected statuses. `path`, `body` and `headers` may be functions
 * of the number of stored `records`, the number of the request (`turn`), and the `id` that a request with `keepsId` has
 * stored.
 */
export const operations = {
  get: { statuses: [200], requests: [read] },
  post: { statuses: [201], requests: [create] },
  'keyed-post': { statuses: [201], requests: [{ ...create, headers: () => ({ 'idempotency-key': randomUUID() }) }] },
  // A cycle of twelve requests: eight GET, a PUT, a POST, a DELETE of the new record, and a list.
  soak: {
    statuses: [200, 201, 204],
    requests: [
      ...mixed,
      { method: 'GET', path: ({ records }) => `/cookies?limit=100&after=${Math.floor(Math.random() * records)}` },
      list,
    ],
  },
  list: { statuses: [200], requests: [list] },
  unchanged: {
    statuses: [304],
    requests: [list],
    // The load generator fetches the ETag first.
    conditional: true,
  },
};

/** Requests to which two programs must send equal responses, in order. */
export const probes = [
  create,
  { method: 'GET', path: '/cookies/1' },
  list,
  { method: 'GET', path: '/cookies/1', headers: { authorization: '' } },
  { method: 'GET', path: '/cookies/1', headers: { authorization: 'Bearer e30.e30.e30' } },
  { method: 'GET', path: '/cookies/1?limit=1' },
  { method: 'GET', path: '/cookies/0' },
  { method: 'GET', path: '/cookies/999999' },
  { ...create, body: { ...COOKIE, flavor: 'salt' } },
  { ...create, body: { ...COOKIE, wish: '' } },
  { ...create, body: { ...COOKIE, wish: '\0' } },
  { ...create, body: { ...COOKIE, wish: '\ud800' } },
  { ...create, body: { ...COOKIE, wish: '😀'.repeat(256) } },
  { ...create, body: { ...COOKIE, wish: '😀'.repeat(255) } },
  { ...create, body: { ...COOKIE, id: 7 } },
  { ...create, headers: { 'content-type': 'text/plain' } },
  list,
];
