import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../../src/config/config.js';

const LIST = 'loaded-files';

/** Writes, as the process ends, which files it has loaded. */
const PROGRAM = `
  import { writeFileSync } from 'node:fs';
  import { Session } from 'node:inspector';
  const files = new Set();
  const session = new Session();
  session.connect();
  session.on('Debugger.scriptParsed', ({ params: { url } }) => files.add(url));
  session.post('Debugger.enable');
  process.on('exit', () => writeFileSync('${LIST}', [...files].join('\\n')));`;

/** The environment of a process that notes which files it loads. */
export const NOTING_PACKAGES: Environment = {
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(PROGRAM)}`,
};

/** In the bundle, a comment with its path is before each module. */
const BUNDLED = /^\/\/ (\S*(?:node_modules|dist)\/\S+)$/gm;

/** The modules that the last such process loaded in `folder`, its working directory, before it ended; in a bundle each of its own. */
export function loadedModules(folder: string): string[] {
  const files = readFileSync(join(folder, LIST), 'utf8').split('\n');
  return files.flatMap((file) => {
    if (!file.includes('/dist/bundle/')) return [file];
    return [...readFileSync(fileURLToPath(file), 'utf8').matchAll(BUNDLED)].map(([, path]) => path!);
  });
}

/** The packages of these modules. */
export function loadedPackages(folder: string): string[] {
  const names = loadedModules(folder).flatMap((path) => {
    const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
    return name === undefined ? [] : [name];
  });
  return [...new Set(names)].sort();
}
