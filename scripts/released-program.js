/**
 * Packs the compiled program of the last release into one file, for the test of upgrades
 * (`test/project/upgrade.e2e-spec.ts`). CI could not build it, because its checkout has no history. `npm run release`
 * runs it, or `node scripts/released-program.js FOLDER` with the folder of a built project.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { transformSync } from '@swc/core';

const FILE = fileURLToPath(new URL('../test/project/released-program.json.br', import.meta.url));
/** Options that remove only comments and white space: stacks and decorators need the names. */
const COMPACT = { minify: true, jsc: { target: 'es2023', minify: { compress: false, mangle: false } } };

/** Writes the program of a built project: an object in JSON with the text of each file, compressed by Brotli. */
export function packProgram(root) {
  const files = ['dist/ormconfig.js', ...['dist/src', 'dist/migrations'].flatMap((folder) => scriptsIn(root, folder))];
  const program = { 'package.json': readFileSync(join(root, 'package.json'), 'utf8') };
  for (const name of files) program[name] = transformSync(readFileSync(join(root, name), 'utf8'), COMPACT).code;
  writeFileSync(FILE, brotliCompressSync(JSON.stringify(program)));
}

/** Writes the files of the program into a folder, which needs `node_modules` beside them. */
export function unpackProgram(folder) {
  for (const [name, text] of Object.entries(JSON.parse(brotliDecompressSync(readFileSync(FILE)).toString()))) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

function scriptsIn(root, folder) {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /(?<!\.spec)\.js$/.test(name))
    .sort()
    .map((name) => `${folder}/${name}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) packProgram(process.argv[2]);
