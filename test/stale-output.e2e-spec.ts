import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ProjectCopy } from './support/project/project-copy.js';

/** What a build of another branch has left behind. */
const STALE = [
  'migrations/1799999999999-add-price.js',
  'src/cookies/crumb.entity.js',
  'src/cookies/crumb.entity.js.map',
];

describe('a build over the output of another branch', () => {
  let copy: ProjectCopy;

  beforeEach(() => {
    copy = new ProjectCopy();
    for (const file of STALE) writeFileSync(join(copy.folder, 'dist', file), 'throw new Error("stale");');
  });

  afterEach(() => copy.remove());

  const namesIn = (folder: string, ending: RegExp): string[] =>
    readdirSync(join(copy.folder, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => ending.test(name) && !/\.(spec|d)\.ts$/.test(name))
      .map((name) => name.replace(ending, ''))
      .sort();

  it.each([
    ['npm start', process.execPath, ['--input-type=module', '-e', "(await import('./scripts/build.js')).build()"]],
    ['npm run build', 'npm', ['run', '--silent', 'build']],
  ])('deletes what has no source any more, and nothing else: %s', (_what, program, args) => {
    execFileSync(program, args, { cwd: copy.folder, stdio: 'pipe' });
    for (const folder of ['src', 'migrations']) {
      expect(namesIn(`dist/${folder}`, /\.js$/)).toEqual(namesIn(folder, /\.[jt]s$/));
    }
  });
});
