/**
 * The same by hand on PostgreSQL: Fastify and `pg`, a pool as large as the service's, named prepared statements, each GET a
 * statement and each POST a transaction of its own.
 */
import process from 'node:process';
import pg from 'pg';
import { authorize, cookieIn, createServer, etagOf, failure, idIn, notFound, refuseQuery } from './by-hand.js';

const { HOST, PORT, DATABASE_URL, COOKIES_CAPACITY } = process.env;

// As JavaScript numbers, which the service's ids are too.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
const capacity = Number(COOKIES_CAPACITY);

const select = {
  name: 'select',
  text: `SELECT cookies.id, flavor, size, wish, cookies.revision, epoch FROM cookies, storage
    WHERE cookies.id = $1 AND resource = 'cookies'`,
};
const reserve = {
  name: 'reserve',
  text: `UPDATE storage SET used = used + 1, revision = revision + 1
    WHERE resource = 'cookies' AND used < $1 RETURNING epoch, revision`,
};
const insert = {
  name: 'insert',
  text: 'INSERT INTO cookies (flavor, size, wish, revision) VALUES ($1, $2, $3, $4) RETURNING id',
};

async function create({ flavor, size, wish }) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const [version] = (await client.query({ ...reserve, values: [capacity] })).rows;
    if (version === undefined) throw failure(507, 'STORAGE_FULL', 'Storage is full');
    const [{ id }] = (await client.query({ ...insert, values: [flavor, size, wish, version.revision] })).rows;
    await client.query('COMMIT');
    return { id, ...version };
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

const app = createServer();

app.get('/cookies/:id', async (request, reply) => {
  authorize(request, reply, 'cookies:read');
  refuseQuery(request);
  const id = idIn(request);
  const [row] = (await pool.query({ ...select, values: [id] })).rows;
  if (row === undefined) throw notFound(id);
  const { flavor, size, wish } = row;
  return reply
    .header('x-request-id', request.id)
    .header('x-content-type-options', 'nosniff')
    .header('etag', etagOf(row))
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify({ id, flavor, size, wish }));
});

app.post('/cookies', async (request, reply) => {
  authorize(request, reply, 'cookies:write');
  refuseQuery(request);
  const { flavor, size, wish } = cookieIn(request, ['flavor', 'size', 'wish']);
  const { id, epoch, revision } = await create({ flavor, size, wish });
  return reply
    .code(201)
    .header('x-request-id', request.id)
    .header('x-content-type-options', 'nosniff')
    .header('location', `/cookies/${id}`)
    .header('etag', etagOf({ epoch, revision }))
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify({ id, flavor, size, wish }));
});

process.once('SIGTERM', () => void pool.end().then(() => process.exit(0)));
await app.listen({ host: HOST, port: Number(PORT) });
