import { readFileSync } from 'node:fs';

const EXAMPLE = new URL('../../../.env.example', import.meta.url);

/** Removes the user's variables for the service and for PostgreSQL clients, and sets the umask. */
export function neutralizeEnvironment(): void {
  const settings = readFileSync(EXAMPLE, 'utf8').matchAll(/^([A-Z_]+)=/gm);
  const names = new Set([...settings].map(([, name]) => name));
  for (const name of Object.keys(process.env)) {
    if (names.has(name) || /^PG[A-Z]+$/.test(name)) delete process.env[name];
  }
  process.env['NODE_ENV'] = 'test';
  process.umask(0o022);
}
