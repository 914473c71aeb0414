/**
 * Writes the OpenAPI document to `docs/openapi.json`, the contract of a release, for a test that compares later
 * documents with it. `npm run openapi` builds the service first. An argument names another file.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';

const FILE = process.argv[2] ?? fileURLToPath(new URL('../docs/openapi.json', import.meta.url));

const built = (path) => import(new URL(`../dist/src/${path}`, import.meta.url).href);

const [{ createApp }, { loadConfig }, { SETTINGS }] = await Promise.all(
  ['app.js', 'config/config.js', 'features.js'].map(built),
);
const { openApiDocument } = await built('openapi/document.js');

const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
try {
  const environment = { DATABASE_URL: `sqlite:${join(folder, 'database.sqlite')}`, LOG_LEVEL: 'silent' };
  const app = await createApp(loadConfig(environment, SETTINGS));
  // As in tests, the contract has the paths without a prefix that `createApp` sets.
  app.setGlobalPrefix('');
  const document = JSON.stringify(openApiDocument(app));
  await app.close();
  writeFileSync(FILE, await format(document, { ...(await resolveConfig(FILE)), filepath: FILE }));
} finally {
  rmSync(folder, { recursive: true });
}
