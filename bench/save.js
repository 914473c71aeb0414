/**
 * What a plain module gets from `repository.save()`: an entity on TypeORM's own better-sqlite3 driver, made durable, or on the
 * data source of this service. Each message `{ callers, seconds }` of its parent is answered with `{ rate, cost }`: calls a
 * second, and microseconds of CPU each.
 *
 * Each call comes from the event loop, as one made for a request does. Calls made in one go would join one transaction of
 * the stock driver, which all share, and be acknowledged before it commits: those are not durable, and not compared.
 *
 *   node bench/save.js stock|service <folder>
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

class Note {}
PrimaryGeneratedColumn()(Note.prototype, 'id');
Column('varchar')(Note.prototype, 'text');
Entity('note')(Note);

const [, , name, folder] = process.argv;
const file = fileWithTable();
const source = name === 'stock' ? stock() : await service();
await source.initialize();
const notes = source.getRepository(Note);
process.on('message', ({ callers, seconds }) => void save(callers, seconds).then((sample) => process.send(sample)));
process.once('disconnect', () => void source.destroy());

function stock() {
  return new DataSource({
    type: 'better-sqlite3',
    driver: betterSqlite3(),
    database: file,
    enableWAL: true,
    prepareDatabase: (database) => void database.pragma('synchronous = FULL'),
    entities: [Note],
  });
}

function service() {
  return createDataSource(loadConfig({ DATABASE_URL: `sqlite:${file}`, LOG_LEVEL: 'error' }), [Note]);
}

async function save(callers, seconds) {
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

function fileWithTable() {
  const path = join(folder, `${name}.sqlite`);
  const database = openDatabase(path);
  database.exec('CREATE TABLE note (id integer PRIMARY KEY AUTOINCREMENT NOT NULL, text varchar NOT NULL)');
  database.close();
  return path;
}
