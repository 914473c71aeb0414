import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { draftFolder } from './draft-folder.js';

describe('draftFolder', () => {
  it('removes the folder that a killed process with the same host and process id has left', async () => {
    const folder = temporaryFolder();
    const [left, made] = [await draftFolder(join(folder, 'draft-')), await draftFolder(join(folder, 'draft-'))];
    expect([existsSync(left.path), existsSync(made.path)]).toEqual([false, true]);
  });

  it('removes folders of other processes after six hours, and no file or folder of an operator with such a name', async () => {
    const folder = temporaryFolder();
    const hours = {
      'other-host-12-aB3dE6': 6.1,
      'other-host-12-aB3dE7': 5.9,
      'other-host-12-aB3dE8': 100,
      'of-2024': 100,
    };
    const paths = Object.keys(hours).map((name) => join(folder, `draft-${name}`));
    for (const [index, ago] of Object.values(hours).entries()) {
      if (index === 2) writeFileSync(paths[index]!, 'a file');
      else mkdirSync(join(paths[index]!, 'half'), { recursive: true });
      utimesSync(paths[index]!, 0, Date.now() / 1000 - ago * 3600);
    }
    await draftFolder(join(folder, 'draft-'));
    expect(paths.map((path) => existsSync(path))).toEqual([false, true, true, true]);
  });
});
