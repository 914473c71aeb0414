import { Buffer } from 'node:buffer';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

const SAMPLES = 200;

/** Milliseconds that the disk below a folder takes to make 4 KiB durable (median): the floor of a durable write. */
export function syncTime(folder) {
  const file = openSync(join(folder, 'sync'), 'w');
  const page = Buffer.alloc(4096);
  const times = Array.from({ length: SAMPLES }, () => {
    const started = performance.now();
    writeSync(file, page);
    fsyncSync(file);
    return performance.now() - started;
  });
  closeSync(file);
  return times.sort((one, other) => one - other)[SAMPLES / 2];
}
