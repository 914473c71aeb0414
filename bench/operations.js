const COOKIE = { flavor: 'vanilla', size: 'small', wish: 'May your tests be green' };
const FLAVORS = ['chocolate', 'vanilla', 'cinnamon'];
const SIZES = ['small', 'medium', 'large'];

const anyCookie = ({ records }) => `/cookies/${1 + Math.floor(Math.random() * records)}`;
const list = { method: 'GET', path: '/cookies' };
const read = { method: 'GET', path: anyCookie };
const create = { method: 'POST', path: '/cookies', body: COOKIE };
// One record after the other, then all again with the next values: each request changes its record.
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
 * What one connection does over and over, and the statuses that are right for it. Of a request, `path` and `body` may
 * depend on how many `records` are stored, on the request's number (`turn`) and on the `id` that `keepsId` has kept.
 */
export const operations = {
  get: { what: 'GET of one record, any of those stored', statuses: [200], requests: [read] },
  post: { what: 'durable POST', statuses: [201], requests: [create] },
  put: { what: 'durable PUT that changes its record', statuses: [200], requests: [replace] },
  delete: {
    what: 'durable DELETE of a record that was stored just before the measurement',
    statuses: [204, 200],
    requests: [remove],
    // Each is possible once only.
    consumesIds: true,
  },
  mixed: {
    what: 'of ten requests seven GET, one PUT, one POST, and a DELETE of what it stored',
    statuses: [200, 201, 204],
    requests: mixed,
  },
  soak: {
    what: 'of twelve requests the ten of `mixed`, a page, and a list of all',
    statuses: [200, 201, 204],
    requests: [
      ...mixed,
      { method: 'GET', path: ({ records }) => `/cookies?limit=100&after=${Math.floor(Math.random() * records)}` },
      list,
    ],
  },
  list: { what: 'GET of all records', statuses: [200], requests: [list] },
  changing: {
    what: 'GET of all records after a PUT, in turn, so that no list is the same twice',
    statuses: [200],
    requests: [replace, list],
  },
  unchanged: {
    what: 'GET of all records with If-None-Match, nothing having changed',
    statuses: [304],
    requests: [list],
    // The load generator asks for the ETag first.
    conditional: true,
  },
};

/** Requests to which programs that claim to answer alike must give the same answer, one after the other. */
export const probes = [
  create,
  { method: 'GET', path: '/cookies/1' },
  list,
  { method: 'GET', path: '/cookies/1', headers: { authorization: '' } },
  { method: 'GET', path: '/cookies/1?limit=1' },
  { method: 'GET', path: '/cookies/0' },
  { method: 'GET', path: '/cookies/999999' },
  { ...create, body: { ...COOKIE, flavor: 'salt' } },
  { ...create, body: { ...COOKIE, wish: '' } },
  { ...create, body: { ...COOKIE, id: 7 } },
  { ...create, headers: { 'content-type': 'text/plain' } },
  { method: 'PUT', path: '/cookies/1', body: { flavor: 'cinnamon', size: 'large' } },
  { method: 'PUT', path: '/cookies/1', body: COOKIE },
  { method: 'PUT', path: '/cookies/999999', body: { flavor: 'cinnamon', size: 'large' } },
  { method: 'DELETE', path: '/cookies/2', headers: { 'if-match': '"another"' } },
  { method: 'DELETE', path: '/cookies/2' },
  { method: 'DELETE', path: '/cookies/2' },
  { method: 'GET', path: '/cookies' },
];
