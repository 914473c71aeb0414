/** Deletes from `dist` what has no source any more: the service would run a migration of another branch, or load its entities. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

for (const folder of ['src', 'migrations']) {
  const output = join(ROOT, 'dist', folder);
  if (!existsSync(output)) continue;
  for (const file of readdirSync(output, { recursive: true, encoding: 'utf8' })) {
    const [, source] = /^(.*)\.js(?:\.map)?$/.exec(file) ?? [];
    if (source === undefined) continue;
    const hasSource = ['.ts', '.js'].some((ending) => existsSync(join(ROOT, folder, source + ending)));
    if (!hasSource) rmSync(join(output, file));
  }
}
