import { spawnSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import process from 'node:process';
import { openDatabase } from '../dist/src/database/sqlite/better-sqlite3.js';
import { unpinned } from './cores.js';
import { syncTime } from './disk.js';

/** What the figures depend on, as rows of name and value; nothing that tells whose machine it is. */
export function describeMachine(folder) {
  const [{ model }] = cpus();
  const database = openDatabase(':memory:');
  const sqlite = database.prepare('SELECT sqlite_version()').pluck().get();
  database.close();
  const shell = spawnSync('sqlite3', ['--version'], { encoding: 'utf8' }).stdout?.split(' ')[0];
  return [
    ['processor', `${cpus().length} x ${model}`],
    ['memory', `${(totalmem() / 2 ** 30).toFixed(1)} GiB`],
    ['kernel', `${type()} ${release()}`],
    ['Node.js', process.version],
    ['SQLite in better-sqlite3', sqlite],
    ['SQLite shell', shell ?? 'not installed: its time is not measured'],
    ['disk', `makes 4 KiB durable in ${syncTime(folder).toFixed(2)} ms (median of 200)`],
    [
      'cores',
      unpinned === undefined ? 'the program under test on one, the load on another' : `NOT pinned: ${unpinned}`,
    ],
    ['load average at the start', loadavg()[0].toFixed(1)],
  ];
}
