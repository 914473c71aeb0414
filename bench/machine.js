import { Buffer } from 'node:buffer';
import { spawnSync } from 'node:child_process';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { unpinned } from './cores.js';
import { openDatabase } from './sqlite.js';

const SYNCS = 200;

/** The conditions of the figures, as rows of name and value. */
export function describeMachine(folder) {
  const database = openDatabase(':memory:');
  const sqlite = database.prepare('SELECT sqlite_version()').pluck().get();
  database.close();
  const git = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' });
  return [
    ['commit', git.status === 0 ? git.stdout.trim() : 'unknown'],
    ['processor', `${cpus().length} x ${cpus()[0].model}`],
    ['memory', `${(totalmem() / 2 ** 30).toFixed(1)} GiB`],
    ['kernel', `${type()} ${release()}`],
    ['Node.js', process.version],
    ['SQLite', sqlite],
    ['disk', `makes 4 KiB durable in ${syncTime(folder).toFixed(2)} ms (median of ${SYNCS})`],
    ['cores', unpinned === undefined ? 'program under test on one, load on another' : `NOT pinned: ${unpinned}`],
    ['load average at the start', loadavg()[0].toFixed(1)],
  ];
}

/** Milliseconds (median) to make 4 KiB durable on the disk of a folder: the shortest time of a durable write. */
function syncTime(folder) {
  const file = openSync(join(folder, 'sync'), 'w');
  const page = Buffer.alloc(4096);
  const times = Array.from({ length: SYNCS }, () => {
    const started = performance.now();
    writeSync(file, page);
    fsyncSync(file);
    return performance.now() - started;
  });
  closeSync(file);
  return times.sort((one, other) => one - other)[SYNCS / 2];
}
