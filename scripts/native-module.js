/**
 * Makes the one native module that does not come built: better-sqlite3 12, for Node 20 alone. `.npmrc` keeps npm from running
 * the install scripts of packages; the script of this package is run here, by its name.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { nodeMajor, requireSupportedNode } from '../src/config/node-version.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGE = 'better-sqlite3-12';
const require = createRequire(import.meta.url);

/** Ends the process with a message where the module cannot be made. */
function makeNativeModule() {
  if (nodeMajor >= 22 || loads()) return;
  console.error(
    `Node ${process.versions.node}: ${PACKAGE} is downloaded or compiled once (npm rebuild ${PACKAGE}) ...`,
  );
  const npm = spawnSync('npm', ['rebuild', PACKAGE, '--ignore-scripts=false', '--loglevel=error'], {
    cwd: ROOT,
    // stdout belongs to the program that is started next.
    stdio: ['ignore', process.stderr, process.stderr],
    shell: process.platform === 'win32',
  });
  if (npm.status === 0 && loads()) return;
  console.error(
    `${PACKAGE} could not be made on Node ${process.versions.node}: install a C++ compiler, make and Python, or Node 22 or newer, which needs none of them.`,
  );
  process.exit(1);
}

function loads() {
  try {
    const Database = require(PACKAGE);
    new Database(':memory:').close();
    return true;
  } catch {
    return false;
  }
}

requireSupportedNode();
makeNativeModule();
