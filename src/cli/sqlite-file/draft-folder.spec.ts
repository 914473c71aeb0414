import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
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

  it('removes old folders of other processes, and no folder of an operator with such a name', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cookies-'));
    const [left, others] = [join(folder, 'draft-other-host-12-aB3dE6'), join(folder, 'draft-of-2024')];
    for (const path of [left, others]) {
      mkdirSync(path);
      utimesSync(path, 0, 0);
    }
    await draftFolder(join(folder, 'draft-'));
    expect([existsSync(left), existsSync(others)]).toEqual([false, true]);
    rmSync(folder, { recursive: true });
  });
});
