import { rm } from 'node:fs/promises';
import type { Config } from '../../config/config.js';
import { RESOURCES } from '../../features.js';
import { Failure } from '../command-errors.js';
import { expectedContents } from '../resources/resources.js';
import { checkFile } from '../sqlite-file/file-check.js';
import { readingOnly } from '../sqlite-file/file-copy.js';
import { copy } from './copy.js';
import { BESIDE, differencesFromFresh, dropRecreatedParts } from './schema-check.js';

/**
 * Copies a backup from `source` to `draft`, and checks pages, counters, ids and schema of both. Messages name `file`.
 * @returns the records of each resource, and the migrations that the next start will run
 * @throws {Failure} with the reason why the backup cannot be restored
 */
export async function checkedCopy(
  { file, source, draft }: { file: string; source: string; draft: string },
  config: Config,
  interrupt: AbortSignal,
) {
  const largestIds = RESOURCES.map(
    ({ name, capacity }) => [name.plural, Number.MAX_SAFE_INTEGER - config.get(capacity)] as const,
  );
  const expected = { ...(await expectedContents()), largestIds: new Map(largestIds) };
  await readingOnly(source, async () => {
    const { errors, drifts } = checkFile(source, expected);
    const wrong = [...errors, ...drifts];
    if (wrong.length > 0) throw new Failure(`${file} cannot be restored: ${wrong.join('; ')}.`);
    await copy(source, draft, { readonly: true, interrupt });
  });
  // The copy is checked, not the backup: its disk may be damaged.
  const { errors, counts, migrations } = checkFile(draft, expected);
  if (errors.length > 0) throw new Failure(`The copy of ${file} is not sound: ${errors.join('; ')}.`);
  const differences = await differencesFromFresh(draft, migrations, config);
  if (differences.length > 0) throw new Failure(`${file} cannot be restored: ${differences.join('; ')}.`);
  dropRecreatedParts(draft);
  return { counts, pending: expected.migrations.filter((name) => !migrations.includes(name)) };
}

/** Removes a copy, and what was made beside it. */
export async function discardCopy(draft: string): Promise<void> {
  for (const suffix of ['', '-from', '-fresh', ...BESIDE]) await rm(draft + suffix, { force: true });
  for (const suffix of BESIDE) await rm(`${draft}-fresh${suffix}`, { force: true });
}
