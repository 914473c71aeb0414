/**
 * Prints the CycloneDX bill of materials of a deployment: Node, and the packages in `node_modules` that the service
 * needs at run time. `npm sbom --omit dev` would leave out packages that tools also need, such as `@nestjs/common`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Without the development packages installed, npm finds them only in the lock file. */
const ARGUMENTS = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];

const read = (file) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));

const { name: service, version } = read('package.json');

const locked = read('package-lock.json').packages;

/** References of the packages in the deployment, `name@version` as in npm's list. */
const shipped = new Set(
  Object.entries(locked)
    .filter(([path, { dev }]) => path !== '' && !dev && existsSync(join(ROOT, path)))
    .map(([path, { name = path.split('node_modules/').at(-1), version }]) => `${name}@${version}`),
);

const node = {
  'bom-ref': `node@${process.versions.node}`,
  type: 'platform',
  name: 'node',
  version: process.versions.node,
  purl: `pkg:generic/node@${process.versions.node}`,
  cpe: `cpe:2.3:a:nodejs:node.js:${process.versions.node}:*:*:*:-:*:*:*`,
  licenses: [{ license: { id: 'MIT' } }],
};

const all = JSON.parse(execFileSync('npm', ARGUMENTS, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 }));
const root = `${service}@${version}`;
all.metadata.component.name = service;
all.components = [node, ...all.components.filter((component) => shipped.has(component['bom-ref']))];
all.dependencies = all.dependencies
  .filter(({ ref }) => ref === root || shipped.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((name) => shipped.has(name)) }));
console.log(JSON.stringify(all, null, 2));
