/**
 * Writes the settings into `.env.example`, the README's table and the compose files. `npm run settings` builds the
 * service first. A test compares the files with the declarations.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { COMPOSE, ENV_EXAMPLE, envExample, README, withPassedOn, withTable } from './settings/documents.js';

/** @param {string} path */
const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** @type {typeof import('../src/config/config.js')} */
const { allSettings } = await import(new URL('../dist/src/config/config.js', import.meta.url).href);
/** @type {typeof import('../src/features.js')} */
const { SETTINGS } = await import(new URL('../dist/src/features.js', import.meta.url).href);

const settings = allSettings(SETTINGS);
const filepath = at(README);
const readme = withTable(readFileSync(filepath, 'utf8'), settings);
// All files are ready before the first is written.
const formatted = await format(readme, { ...(await resolveConfig(filepath)), filepath });
const compose = COMPOSE.filter((path) => existsSync(at(path))).map(
  (path) => /** @type {const} */ ([path, withPassedOn(readFileSync(at(path), 'utf8'), SETTINGS)]),
);
writeFileSync(at(ENV_EXAMPLE), envExample(settings));
for (const [path, source] of compose) writeFileSync(at(path), source);
writeFileSync(filepath, formatted);
