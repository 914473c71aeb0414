import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** A small change of the kind a maintainer makes by accident, that breaks one promise of the service. */
export interface Mutant {
  /** Unique in its file: what goes wrong, in a few words joined by hyphens. */
  readonly id: string;
  /** From the root of the project. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly replace: string;
  readonly by: string;
  /** The promise that is broken, in one line. */
  readonly breaks: string;
  /** From the root of the project; at least one of them must fail. */
  readonly specs: readonly string[];
  /** A pattern of the titles of the tests to run, as jest's `-t` takes it; all of the specs where it is absent. */
  readonly tests?: string;
  /** Why no test can notice it. Such a mutant does not count as a survivor. */
  readonly survives?: string;
}

/** A mutant with the name it goes by on the command line. */
export interface NamedMutant extends Mutant {
  /** `<module>/<id>` */
  readonly name: string;
  /** The name of the file of `test/mutants` that describes it. */
  readonly module: string;
}

const DESCRIPTIONS = 'test/mutants';

/**
 * The mutants that `test/mutants/<module>.ts` describe, one file for each module of `src`.
 * @param root of the project
 */
export async function loadMutants(root: string): Promise<NamedMutant[]> {
  const files = readdirSync(join(root, DESCRIPTIONS)).filter((file) => file.endsWith('.ts'));
  const mutants: NamedMutant[] = [];
  for (const module of files.map((file) => basename(file, '.ts')).sort()) {
    const { default: described } = (await import(`../${module}.js`)) as { default: readonly Mutant[] };
    mutants.push(...described.map((mutant) => ({ ...mutant, module, name: `${module}/${mutant.id}` })));
  }
  return mutants;
}

/** The text of the mutant's file with the change made. */
export function mutatedText(root: string, { file, replace, by }: NamedMutant): string {
  return readFileSync(join(root, file), 'utf8').split(replace).join(by);
}

/** What keeps a mutant from being tried, since the service or its tests have changed; `undefined` when nothing does. */
export function obstacleOf(root: string, { file, replace, by, specs }: NamedMutant): string | undefined {
  const missing = [file, ...specs].find((path) => !existsSync(join(root, path)));
  if (missing !== undefined) return `there is no file ${missing}`;
  if (specs.length === 0) return 'it names no specs';
  const times = readFileSync(join(root, file), 'utf8').split(replace).length - 1;
  if (times !== 1) return `the text to replace must occur once in ${file}, but occurs ${times} times: ${replace}`;
  return replace === by ? 'it replaces a text by the same text' : undefined;
}
