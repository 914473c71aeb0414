/**
 * Writes the settings into `.env.example` and the README's table. `npm run settings` builds the service first. A test
 * compares the files with the declarations.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { ENV_EXAMPLE, envExample, README, withTable } from './settings/documents.js';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

const { allSettings } = await import(new URL('../dist/src/config/config.js', import.meta.url).href);
const { SETTINGS } = await import(new URL('../dist/src/features.js', import.meta.url).href);

const settings = allSettings(SETTINGS);
const filepath = at(README);
const readme = withTable(readFileSync(filepath, 'utf8'), settings);
// All files are ready before the first is written.
const formatted = await format(readme, { ...(await resolveConfig(filepath)), filepath });
writeFileSync(at(ENV_EXAMPLE), envExample(settings));
writeFileSync(filepath, formatted);
