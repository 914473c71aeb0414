import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { draftFolder } from './draft-folder.js';

describe('draftFolder', () => {
  it('removes the folder that a killed process with the same host and process id has left', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cookies-'));
    const [left, made] = [await draftFolder(join(folder, 'draft-')), await draftFolder(join(folder, 'draft-'))];
    expect([existsSync(left.path), existsSync(made.path)]).toEqual([false, true]);
    rmSync(folder, { recursive: true });
  });
});
