/**
 * Makes `dist/bundle` of what the compiler has written to `dist` and of the packages that it uses: to load these one by one takes longer than all
 * else of a start. See docs/adr/0108-the-service-runs-from-a-bundle.md.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { modulePlaces, placeFunctions } from './bundle/module-places.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');
const BUNDLE = join(DIST, 'bundle');
/** Its time is that of the newest input of the bundle. */
const STAMP = join(BUNDLE, '.stamp');
const COMPILE_CACHE = join(BUNDLE, 'compile-cache');

/** Packages that are loaded from `node_modules`: those with native code, and those that only people at a terminal need. */
const EXTERNAL = [/^better-sqlite3(-12)?$/, 'pino-pretty', 'cli-progress'];

/** What programs start with, and what the data layer looks for in folders. */
const ENTRIES = /^(src\/main|src\/cli\/main|src\/.*\.entity|migrations\/[0-9]+-[^/]*)\.js$/;

/** Nobody looks for a fault of the service there, and they are three times as large as those of the service. */
const MAP_OF_PACKAGES = /^chunks\/(?:packages|rolldown).*\.map$/;

/** Milliseconds for which a file of an earlier bundle is kept: a program that runs from it may load it yet. */
const KEEP = 24 * 60 * 60_000;

const compiledFiles = () =>
  ['src', 'migrations'].flatMap((folder) =>
    readdirSync(join(DIST, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );

const timeOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Milliseconds; folders count, too, since a file may have been deleted. */
function newestInput(files) {
  const others = ['package-lock.json', 'node_modules/.package-lock.json', 'scripts/bundle.js', 'scripts/bundle'];
  return Math.max(...[...files.map((file) => join('dist', file)), ...others].map((file) => timeOf(join(ROOT, file))));
}

/** @returns what of the files the compiler has written are the bundle's, as paths from its folder and their content */
async function bundled(files) {
  const entries = files.map((file) => file.replaceAll(sep, '/')).filter((file) => ENTRIES.test(file));
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((file) => [file.slice(0, -'.js'.length), join(DIST, file)])),
    platform: 'node',
    external: EXTERNAL,
    // Most are about optional packages of packages, which stay imports of what is not installed.
    logLevel: 'silent',
    // Its decorators are needed at the start, what makes the document for the first request to it.
    treeshake: { moduleSideEffects: [{ test: /[\\/]node_modules[\\/]@nestjs[\\/]swagger[\\/]/, sideEffects: false }] },
    plugins: [sourceMaps(), modulePlaces(ROOT, DIST, BUNDLE)],
  });
  const { output } = await bundle.generate({
    dir: BUNDLE,
    format: 'esm',
    // Entities, migrations and schemas are known by the names of their classes.
    keepNames: true,
    // `reflect-metadata` has to be there before the first decorator, as the order of the imports says.
    strictExecutionOrder: true,
    sourcemap: true,
    sourcemapExcludeSources: true,
    banner: placeFunctions,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {
      includeDependenciesRecursively: false,
      // A file of each for what one program or one dynamic import needs, so that none loads what only others do.
      groups: [
        { name: 'packages', test: /[\\/]node_modules[\\/]/, entriesAware: true },
        { name: 'service', test: /[\\/]dist[\\/]/, entriesAware: true },
      ],
    },
  });
  await bundle.close();
  return output
    .filter(({ fileName }) => !MAP_OF_PACKAGES.test(fileName))
    .map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source]);
}

/** Makes the maps of the bundle lead to the TypeScript sources. */
function sourceMaps() {
  return {
    name: 'source-maps',
    load: {
      filter: { id: /[\\/]dist[\\/](?:src|migrations)[\\/].*\.js$/ },
      handler: (id) => ({ code: readFileSync(id, 'utf8'), map: readFileSync(`${id}.map`, 'utf8') }),
    },
  };
}

/** Makes the bundle, where it is older than what it is made of. */
export async function bundle() {
  const files = compiledFiles();
  const newest = newestInput(files);
  if (timeOf(STAMP) === Math.floor(newest)) return;
  const outputs = await bundled(files);
  rmSync(STAMP, { force: true });
  for (const [name, content] of outputs) write(join(BUNDLE, name), content);
  deleteOthers(new Set(outputs.map(([name]) => join(BUNDLE, name))));
  writeFileSync(STAMP, '');
  const seconds = Math.floor(newest) / 1000;
  utimesSync(STAMP, seconds, seconds);
}

function write(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** An entity or a migration would be loaded for lying there; other files may still be needed. */
function deleteOthers(written) {
  rmSync(COMPILE_CACHE, { recursive: true, force: true });
  for (const name of readdirSync(BUNDLE, { recursive: true, encoding: 'utf8' })) {
    const path = join(BUNDLE, name);
    if (written.has(path) || !/\.js(?:\.map)?$/.test(name)) continue;
    if (!name.startsWith('chunks') || Date.now() - timeOf(path) > KEEP) rmSync(path);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle();
