import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describeEngines, type EngineName, createDatabase } from '../support/engine.js';
import { projectModule } from '../support/faults/preloaded.js';
import { onServer, setDefault } from '../support/postgres/postgres-server.js';
import { environmentIn, temporaryFolder } from '../support/service.js';

/** First both passes of the repeated hour in New York. Before 1868, offsets of these zones have seconds. */
const INSTANTS = [
  ...['2026-11-01T05:30:00.123Z', '2026-11-01T06:30:00.456Z', '2026-03-08T07:00:00.000Z', '1970-01-01T00:00:00.000Z'],
  ...['1912-06-23T04:05:06.789Z', '1850-01-01T00:00:00.000Z', '0001-01-01T00:00:00.000Z'],
];

/** Entities in JavaScript, so that a process with another `TZ` can load them. */
const PROGRAM = `
  import '${projectModule('node_modules/reflect-metadata/Reflect.js')}';
  import { EntitySchema } from '${projectModule('node_modules/typeorm/index.mjs')}';
  import { loadConfig } from '${projectModule('dist/src/config/config.js')}';
  import { createDataSource } from '${projectModule('dist/src/database/data-source.js')}';
  import { engineOf } from '${projectModule('dist/src/database/engine.js')}';
  import { migrate } from '${projectModule('dist/src/database/schema/migrations.js')}';
  const Moment = new EntitySchema({
    name: 'Moment',
    tableName: 'moments',
    columns: {
      id: { type: 'integer', primary: true, generated: true },
      at: { type: Date, unique: true },
      made: { type: Date, createDate: true },
    },
  });
  const { MIGRATE, WRITES, READS, DATABASE } = process.env;
  const dataSource = await createDataSource(loadConfig({ DATABASE_URL: DATABASE, JWT_SECRET: process.env.JWT_SECRET }), [Moment]);
  await dataSource.initialize();
  const moments = dataSource.getRepository(Moment);
  if (MIGRATE) await migrate(dataSource);
  else await dataSource.driver.createSchemaBuilder().build();
  for (const at of JSON.parse(WRITES ?? '[]')) await moments.insert({ at: new Date(at) });
  const { isoDate } = engineOf(dataSource).dialect;
  const found = await moments.find({ order: { at: 'DESC' } });
  const json = await dataSource.query('SELECT ' + isoDate('"at"') + ' AS at FROM moments ORDER BY moments.at DESC');
  const one = READS && (await moments.countBy({ at: new Date(READS) }));
  const recent = found.filter(({ made }) => Math.abs(made - Date.now()) < 60000).length;
  console.log(JSON.stringify({ found: found.map(({ at }) => at), json: json.map(({ at }) => at), one, recent }));
  await dataSource.destroy();`;

/** Writes and reads a column without a zone, by the data source and by a client of the package beside it. */
const WITHOUT_ZONE = `
  import pg from '${projectModule('node_modules/pg/esm/index.mjs')}';
  import { loadConfig } from '${projectModule('dist/src/config/config.js')}';
  import { createDataSource } from '${projectModule('dist/src/database/data-source.js')}';
  const { WRITES, DATABASE, JWT_SECRET } = process.env;
  const dataSource = await createDataSource(loadConfig({ DATABASE_URL: DATABASE, JWT_SECRET }), []);
  await dataSource.initialize();
  const client = new pg.Client(DATABASE);
  await client.connect();
  await client.query('SET datestyle TO ISO');
  await client.query('CREATE TABLE plain (at timestamp)');
  for (const at of JSON.parse(WRITES)) {
    for (const writer of [client, dataSource]) await writer.query('INSERT INTO plain VALUES ($1)', [new Date(at)]);
  }
  const read = 'SELECT DISTINCT at FROM plain ORDER BY at DESC';
  const all = [(await client.query(read)).rows, await dataSource.query(read)];
  console.log(JSON.stringify(all.map((rows) => rows.map(({ at }) => at))));
  await client.end();
  await dataSource.destroy();`;

interface Told {
  readonly found: string[];
  readonly json: string[];
  readonly one: number;
  readonly recent: number;
}

let number = 0;

describeEngines('an instant', (engine: EngineName) => {
  let folder: string;
  let DATABASE: string;

  beforeEach(async () => {
    folder = temporaryFolder();
    DATABASE = `sqlite:${folder}/instants.sqlite`;
    if (engine === 'sqlite') return;
    DATABASE = await createDatabase(`instants_${process.pid}_${++number}`);
    await setDefault(DATABASE, "timezone TO 'Asia/Kathmandu'");
  });

  async function inZone<T = Told>(TZ: string, environment: Record<string, string>, program = PROGRAM): Promise<T> {
    const { JWT_SECRET } = environmentIn(folder);
    const env = { PATH: process.env['PATH'], TZ, JWT_SECRET, DATABASE, ...environment };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env });
    return JSON.parse(stdout.trim().split('\n').at(-1)!) as T;
  }

  it('is equal in every zone of service and session, also in the hour that is repeated in autumn', async () => {
    const repeatedHour = INSTANTS.slice(0, 2);
    await inZone('Pacific/Auckland', { WRITES: JSON.stringify(INSTANTS.slice(2)) });
    const told = await inZone('America/New_York', { WRITES: JSON.stringify(repeatedHour), READS: INSTANTS[1]! });
    const expected = [...INSTANTS].sort().reverse();
    expect(told).toEqual({ found: expected, json: expected, one: 1, recent: INSTANTS.length });
  });

  if (engine === 'sqlite') return;

  it('that an earlier version stored as local time is migrated from the zone that the migration runs in', async () => {
    const stored = INSTANTS.slice(2, 4);
    await onServer(DATABASE, async (client) => {
      await client.query(
        'CREATE TABLE moments (id serial PRIMARY KEY, at timestamp UNIQUE, made timestamp DEFAULT now())',
      );
      const local = `SELECT unnest($1::timestamptz[]) AT TIME ZONE 'America/New_York'`;
      await client.query(`INSERT INTO moments (at) ${local}`, [stored]);
    });
    const { found, json } = await inZone('America/New_York', { MIGRATE: 'true' });
    expect({ found, json }).toEqual({ found: stored, json: stored });
  });

  it('in a column without a zone is read as it was written, also by a client beside the service', async () => {
    const told = await inZone<string[][]>('America/New_York', { WRITES: JSON.stringify(INSTANTS) }, WITHOUT_ZONE);
    const expected = [...INSTANTS].sort().reverse();
    expect(told).toEqual([expected, expected]);
  });
});
