const COOKIE = { flavor: 'vanilla', size: 'small', wish: 'May your tests be green' };

/** How many connections send requests at once, each the next when the last is answered. */
const CONNECTIONS = [1, 16, 64];

const read = { what: 'GET of one record', method: 'GET', path: '/cookies/1', status: 200 };
const create = { what: 'durable POST', method: 'POST', path: '/cookies', body: COOKIE, status: 201 };

const at = (name, request) =>
  CONNECTIONS.map((connections) => ({ name: `${name}-${connections}`, connections, ...request }));

/** What is measured. Each has one request, which must be answered with one status; record 1 is there beforehand. */
export const scenarios = [...at('get', read), ...at('post', create)];

/** Requests to which programs that claim to answer alike must give the same answer, one after the other. */
export const probes = [
  create,
  read,
  { method: 'GET', path: '/cookies/1', headers: { authorization: '' } },
  { method: 'GET', path: '/cookies/1?limit=1' },
  { method: 'GET', path: '/cookies/0' },
  { method: 'GET', path: '/cookies/99' },
  { ...create, body: { ...COOKIE, flavor: 'salt' } },
  { ...create, body: { ...COOKIE, wish: '' } },
  { ...create, body: { ...COOKIE, id: 7 } },
  { ...create, headers: { 'content-type': 'text/plain' } },
];
