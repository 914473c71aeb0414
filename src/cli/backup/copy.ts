import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { Progress } from '../output/progress.js';
import { copyDatabase } from '../sqlite-file/file-copy.js';

const KIB = 1024;

/** Copies a database and shows the progress. */
export async function copy(from: string, to: string, interrupt: AbortSignal): Promise<void> {
  const { size } = await stat(from);
  const progress = new Progress('Copied', 'KiB', Math.ceil(size / KIB));
  await copyDatabase(from, to, (done, total) => {
    interrupt.throwIfAborted();
    progress.update(Math.round((done / total) * (size / KIB)));
  });
}

/**
 * Packs a file with gzip and removes it. The packed file is read again as a check, because the disk may be bad.
 * @returns the path of the packed file
 */
export async function pack(file: string, signal: AbortSignal): Promise<string> {
  const packed = `${file}.gz`;
  const target = createWriteStream(packed, { flags: 'wx', mode: PRIVATE_FILE });
  await pipeline(createReadStream(file), createGzip(), target, { signal });
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  await pipeline(createReadStream(packed), createGunzip(), nowhere, { signal });
  await rm(file);
  return packed;
}
