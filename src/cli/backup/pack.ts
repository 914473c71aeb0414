import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { Progress } from '../output/progress.js';

/**
 * Replaces a file by one that gzip has packed. That is read once more, because a bad disk may have changed it.
 * @returns the path of the packed file
 */
export async function pack(file: string, signal: AbortSignal): Promise<string> {
  const packed = `${file}.gz`;
  const { size } = await stat(file);
  const bar = new Progress({ done: 'Packed', unit: 'KiB' }, Math.ceil(size / 1024));
  const source = createReadStream(file);
  source.on('data', () => bar.update(Math.ceil(source.bytesRead / 1024)));
  try {
    const target = createWriteStream(packed, { flags: 'wx', mode: PRIVATE_FILE });
    await pipeline(source, createGzip(), target, { signal });
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    await pipeline(createReadStream(packed), createGunzip(), nowhere, { signal });
  } finally {
    bar.stop();
  }
  await rm(file);
  return packed;
}
