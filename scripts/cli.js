/** Runs the command line in this process; builds it first where that has never been done. */
import { existsSync } from 'node:fs';
import './native-module.js';
import { build } from './build.js';

const PROGRAM = new URL('../dist/bundle/src/cli/main.js', import.meta.url);

if (!existsSync(PROGRAM)) await build();
await import(PROGRAM.href);
