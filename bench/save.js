/**
 * What a plain module gets from `repository.save()`: the same entity on TypeORM's stock better-sqlite3 driver, made
 * durable, and on the data source of this service, by 1 and by 64 callers. Prints JSON.
 *
 * Each call comes from the event loop, as one made for a request does. Calls made in one go would join one transaction of
 * the stock driver, which all share, and be acknowledged before it commits: those are not durable, and not compared.
 *
 *   node bench/save.js '{"folder":...,"rounds":5,"seconds":2}'
 */
import 'reflect-metadata';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setImmediate as nextEvent } from 'node:timers/promises';
import { Column, DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { betterSqlite3, openDatabase } from '../dist/src/database/sqlite/better-sqlite3.js';
import { loadConfig } from '../dist/src/config/config.js';
import { createDataSource } from '../dist/src/database/data-source.js';

const CALLERS = [1, 64];
const WARM_UP_SECONDS = 0.5;

class Note {}
PrimaryGeneratedColumn()(Note.prototype, 'id');
Column('varchar')(Note.prototype, 'text');
Entity('note')(Note);

const { folder, rounds, seconds } = JSON.parse(process.argv[2]);

const stock = new DataSource({
  type: 'better-sqlite3',
  driver: betterSqlite3(),
  database: fileWithTable('stock'),
  enableWAL: true,
  prepareDatabase: (database) => void database.pragma('synchronous = FULL'),
  entities: [Note],
});
const database = fileWithTable('service');
const service = await createDataSource(loadConfig({ DATABASE_URL: `sqlite:${database}`, LOG_LEVEL: 'error' }), [Note]);
const sources = { 'TypeORM stock': stock, service };

const lanes = Object.entries(sources).flatMap(([name, source]) =>
  CALLERS.map((callers) => ({ label: `${name}, ${callers} callers`, source, callers, samples: [] })),
);
for (const source of Object.values(sources)) await source.initialize();
for (const lane of lanes) await save(lane, WARM_UP_SECONDS);
for (let round = 0; round < rounds; round++) {
  for (let turn = 0; turn < lanes.length; turn++) {
    const lane = lanes[(round + turn) % lanes.length];
    lane.samples.push(await save(lane, seconds));
  }
}
for (const source of Object.values(sources)) await source.destroy();
console.log(JSON.stringify(lanes.map(({ label, samples }) => ({ label, samples }))));

async function save({ source, callers }, seconds) {
  const notes = source.getRepository(Note);
  const cpu = process.cpuUsage();
  const started = performance.now();
  const until = started + seconds * 1000;
  let count = 0;
  const call = async () => {
    while (performance.now() < until) {
      await nextEvent();
      await notes.save(notes.create({ text: 'May your tests be green' }));
      count++;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  const { user, system } = process.cpuUsage(cpu);
  return { rate: (count / (performance.now() - started)) * 1000, cost: (user + system) / count };
}

function fileWithTable(name) {
  const file = join(folder, `${name}.sqlite`);
  const database = openDatabase(file);
  database.exec('CREATE TABLE note (id integer PRIMARY KEY AUTOINCREMENT NOT NULL, text varchar NOT NULL)');
  database.close();
  return file;
}
