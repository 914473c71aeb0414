import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../../src/config/config.js';

const LIST = 'loaded-packages';

/** Writes, as the process ends, which packages of `node_modules` it has loaded files of. */
const PROGRAM = `
  import { writeFileSync } from 'node:fs';
  import { Session } from 'node:inspector';
  const packages = new Set();
  const session = new Session();
  session.connect();
  session.on('Debugger.scriptParsed', ({ params: { url } }) => {
    const name = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
    if (name !== undefined) packages.add(name);
  });
  session.post('Debugger.enable');
  process.on('exit', () => writeFileSync('${LIST}', [...packages].join('\\n')));`;

/** The environment of a process that notes which packages it loads. */
export const NOTING_PACKAGES: Environment = {
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(PROGRAM)}`,
};

/** The packages that the last such process loaded in `folder`, its working directory, before it ended. */
export function loadedPackages(folder: string): string[] {
  return readFileSync(join(folder, LIST), 'utf8').split('\n').sort();
}
