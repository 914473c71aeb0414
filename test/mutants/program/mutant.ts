import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** A small fault of the kind that a maintainer makes by accident. It breaks one promise of the service. */
export interface Mutant {
  /** Unique in its file: the fault in a few words joined by hyphens. */
  readonly id: string;
  /** Path from the root of the project. */
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly replace: string;
  readonly by: string;
  /** The promise that is broken, in one line. */
  readonly breaks: string;
  /** Paths from the root of the project; at least one of the specs must fail. */
  readonly specs: readonly string[];
  /** A pattern of test titles for jest's `-t`; default: all tests of the specs. */
  readonly tests?: string;
  /** Why no test can notice it. Such a mutant is no survivor. */
  readonly survives?: string;
}

/** A mutant with its name on the command line. */
export interface NamedMutant extends Mutant {
  /** `<module>/<id>` */
  readonly name: string;
  /** The name of its file in `test/mutants`. */
  readonly module: string;
}

const DESCRIPTIONS = 'test/mutants';

/**
 * Loads the mutants of `test/mutants/<module>.ts`, one file for each module of `src`.
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

/** The text of the file with the mutant. */
export function mutatedText(root: string, { file, replace, by }: NamedMutant): string {
  return readFileSync(join(root, file), 'utf8').split(replace).join(by);
}

/** Why a mutant cannot be tried, because the service or its tests have changed; `undefined` if it can. */
export function obstacleOf(root: string, { file, replace, by, specs }: NamedMutant): string | undefined {
  const missing = [file, ...specs].find((path) => !existsSync(join(root, path)));
  if (missing !== undefined) return `there is no file ${missing}`;
  if (specs.length === 0) return 'it names no specs';
  const times = readFileSync(join(root, file), 'utf8').split(replace).length - 1;
  if (times !== 1) return `the text to replace must occur once in ${file}, but occurs ${times} times: ${replace}`;
  return replace === by ? 'it replaces a text by the same text' : undefined;
}
