import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

// The programs in test/faults use this file without jest, and remove their folders themselves.
if (typeof afterAll !== 'undefined') {
  afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
}

/** Makes a folder for the files of a test. It is removed at the end of the spec. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cookies-'));
  folders.push(folder);
  return folder;
}
