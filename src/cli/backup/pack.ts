import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';

/** Packs a file, removes it, and returns the packed one, which is read again as a check: the disk may be bad. */
export async function pack(file: string, signal: AbortSignal): Promise<string> {
  const packed = `${file}.gz`;
  const target = createWriteStream(packed, { flags: 'wx', mode: PRIVATE_FILE });
  await pipeline(createReadStream(file), createGzip(), target, { signal });
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  await pipeline(createReadStream(packed), createGunzip(), nowhere, { signal });
  await rm(file);
  return packed;
}
