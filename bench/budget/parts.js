/**
 * The parts of the way of a request, in the order in which they are switched off: each costs what a program with it takes more
 * than the next one, which is without it. What is left in the end is the socket.
 */
export const PARTS = [
  { name: 'log', about: 'the line of the request, made and written' },
  { name: 'metrics', about: 'its count and time, and the time of each statement' },
  { name: 'serializer', about: 'JSON of the record' },
  { name: 'header fields', about: 'ETag, Location, X-Request-Id, caching and the others of the service' },
  { name: 'database', about: 'the statements, with transaction and commit of a POST' },
  { name: 'handler', about: 'controller, service, preconditions' },
  { name: 'pipes', about: 'id or body validated, arguments of the handler made' },
  { name: 'guard', about: 'token and query checked' },
  { name: 'hooks', about: 'connections tracked and bounded, hooks of the service, bodies read with their limit' },
  { name: 'router: Nest', about: "Nest's own hooks and its way to a handler" },
  { name: 'router: Fastify', about: 'Fastify with one route' },
  { name: 'parser', about: "Node's HTTP: parser, request and response" },
  { name: 'socket', about: 'the same bytes over a bare TCP connection' },
];

/** The parts that a program by hand has, too; Fastify's router and what is below it is the same program for both. */
export const BY_HAND = ['log', 'metrics', 'serializer', 'header fields', 'database', 'pipes', 'guard'];

/** What is answered where nothing looks a record up. */
export const STORED = { id: 1, flavor: 'vanilla', size: 'small', wish: 'May your tests be green' };
export const STORED_JSON = JSON.stringify(STORED);
