/**
 * Writes the files of a new resource (`npm run generate -- --help`). It asks no questions and overwrites no file.
 */
import './supported-node.js';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { parseArguments, USAGE } from './generate/arguments.js';
import { ArgumentError } from './generate/fields.js';
import { withUsedImports } from './generate/imports.js';
import { constant, words } from './generate/names.js';
import { resourceOf } from './generate/resource.js';
import {
  knownResources,
  MODULES,
  nextTimestamp,
  RESOURCES,
  ROOT,
  tableOfTests,
  withModule,
  withResource,
} from './generate/resources.js';
import { controller } from './generate/templates/controller.js';
import { capacitySettingOf, declaration, values } from './generate/templates/declaration.js';
import { dto } from './generate/templates/dto.js';
import { entity } from './generate/templates/entity.js';
import { migration } from './generate/templates/migration.js';
import { module, service } from './generate/templates/module.js';
import { spec, specOnPostgres } from './generate/templates/spec.js';
import { ENV_EXAMPLE, README, withEntry, withRow } from './settings/documents.js';

/** The new files of a resource (`generate/resource.js`) by their paths. */
function filesOf(resource) {
  const { singular, plural } = resource;
  const timestamp = nextTimestamp();
  return {
    [`src/${plural}/${singular}.values.ts`]: values(resource),
    [`src/${plural}/${singular}.resource.ts`]: declaration(resource),
    [`src/${plural}/${singular}.entity.ts`]: entity(resource),
    [`src/${plural}/dto/${singular}.dto.ts`]: dto(resource),
    [`src/${plural}/${plural}.service.ts`]: service(resource),
    [`src/${plural}/${plural}.controller.ts`]: controller(resource),
    [`src/${plural}/${plural}.module.ts`]: module(resource),
    [`migrations/${timestamp}-create-${plural}.ts`]: migration(resource, timestamp),
    [`test/${plural}.e2e-spec.ts`]: spec(resource),
    [`test/on-postgres/${plural}.e2e-spec.ts`]: specOnPostgres(resource),
  };
}

/** The existing files that change, by their paths. */
function changesOf({ singular, plural, all }) {
  const read = (path) => readFileSync(join(ROOT, path), 'utf8');
  const setting = capacitySettingOf({ plural });
  return {
    [MODULES]: withModule(read(MODULES), `${all}Module`, `./${plural}/${plural}.module.js`),
    [RESOURCES]: withResource(read(RESOURCES), constant(plural), `./${plural}/${singular}.resource.js`),
    [ENV_EXAMPLE]: withEntry(read(ENV_EXAMPLE), setting),
    [README]: withRow(read(README), setting),
  };
}

/** Formats the files as the project does. */
const formatted = (files, tidy = (source) => source) =>
  Promise.all(
    Object.entries(files).map(async ([path, source]) => {
      const filepath = join(ROOT, path);
      // Prettier does not format this file.
      const text =
        path === ENV_EXAMPLE ? source : await format(tidy(source), { ...(await resolveConfig(filepath)), filepath });
      return [path, text];
    }),
  );

async function generate(args) {
  const known = knownResources();
  const resource = resourceOf(parseArguments(args, known));
  const { plural } = resource;
  const ofTests = tableOfTests(plural);
  if (ofTests !== undefined) {
    const advice = `for example shop-${plural}, or rename that of the tests`;
    throw new ArgumentError(`"${plural}": tests have a table of this name, in ${ofTests}; ${advice}`);
  }
  const files = filesOf(resource);
  // A migration of an earlier run has another time.
  const migrations = readdirSync(join(ROOT, 'migrations')).filter((name) => name.endsWith(`-create-${plural}.ts`));
  const existing = [
    ...Object.keys(files).filter((path) => existsSync(join(ROOT, path))),
    ...migrations.map((name) => `migrations/${name}`),
  ];
  if (existing.length > 0) {
    throw new ArgumentError(
      `${existing.join(', ')}: exists already, and nothing is overwritten; nothing has been written`,
    );
  }
  // All files are ready before the first is written.
  const [ready, changed] = await Promise.all([formatted(files, withUsedImports), formatted(changesOf(resource))]);
  for (const [path, source] of ready) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    writeFileSync(join(ROOT, path), source, { flag: 'wx' });
  }
  for (const [path, source] of changed) writeFileSync(join(ROOT, path), source);
  return report(resource, ready);
}

function report({ singular, plural, fields }, written) {
  const parents = new Set(fields.flatMap(({ reference }) => reference ?? []));
  return [
    `${words(plural)} (singular: ${words(singular)}; --singular changes it):`,
    ...written.map(([path, source]) => `  ${path} (${source.split('\n').length - 1} lines)`),
    `  ${MODULES}, ${RESOURCES} (2 lines in each)`,
    `  ${ENV_EXAMPLE}, ${README} (${capacitySettingOf({ plural }).name})`,
    '',
    'Next:',
    `- npm run migration:run, or start the service, which does so`,
    `- npm run token -- --sub alice --scope "${plural}:read ${plural}:write" --expires 1h`,
    `- npm test -- test/${plural} test/on-postgres/${plural}`,
    ...[...parents].map(
      (parent) =>
        `- DELETE of ${words(parent)} may be 409 now: in src/${parent}, add errors: [STILL_REFERENCED] to @ApiDelete`,
    ),
    '',
  ].join('\n');
}

try {
  const args = process.argv.slice(2);
  process.stdout.write(args.includes('--help') || args.includes('-h') ? USAGE : await generate(args));
} catch (error) {
  const isExpected = error instanceof ArgumentError;
  process.stderr.write(`${isExpected ? error.message : error.stack}\n`);
  process.exitCode = 1;
}
