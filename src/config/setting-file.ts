import { closeSync, openSync, readSync } from 'node:fs';

/** Largest file of a setting in bytes. A bundle of all public authorities has some 230 KB. */
const LARGEST = 1024 * 1024;

/** Reads a file or a pipe. It throws an `Error` for more than `LARGEST` bytes: `/dev/zero` has no end. */
export function readSettingFile(path: string): Buffer {
  const bytes = Buffer.alloc(LARGEST + 1);
  const file = openSync(path, 'r');
  try {
    let length = 0;
    for (let read = -1; read !== 0; length += read) read = readSync(file, bytes, { offset: length });
    if (length > LARGEST) throw new Error(`${path} has more than ${LARGEST} bytes`);
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}
