import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** A small fault of the kind that a maintainer makes by accident. It breaks one promise of the service. */
export interface Mutant {
  /** `<file in test/mutants>/<the fault in a few words>` */
  readonly name: string;
  readonly breaks: string;
  /** Text that occurs exactly once in `src`; all white space is equal. */
  readonly replace: string;
  readonly by: string;
  /** Names of specs, with as many folders as needed to be unique. At least one of them must fail. */
  readonly specs: readonly string[];
  /** A pattern of test titles for jest's `-t`; default: all tests of the specs. */
  readonly tests: string;
  /** Why no test can detect the mutant. Such a mutant does not count as a survivor. */
  readonly survives: string;
}

/** A mutant with the files that it needs, as paths from the root of the project. */
export interface LocatedMutant extends Mutant {
  readonly file: string;
  readonly specFiles: readonly string[];
}

const DESCRIPTIONS = 'test/mutants';

/** Reads the mutants of all files in `test/mutants`; `README.md` there explains the format. */
export function readMutants(root: string): Mutant[] {
  const files = readdirSync(join(root, DESCRIPTIONS)).filter((file) => file.endsWith('.txt'));
  return files
    .sort()
    .flatMap((file) => parseMutants(basename(file, '.txt'), readFileSync(join(root, DESCRIPTIONS, file), 'utf8')));
}

export function parseMutants(module: string, text: string): Mutant[] {
  let specs: string[] = [];
  const mutants: Mutant[] = [];
  for (const block of text.trim().split(/\n\n+/)) {
    const lines = block.split('\n');
    const after = (word: string): string =>
      lines
        .filter((line) => line.startsWith(`${word} `))
        .map((line) => line.slice(word.length + 1))
        .join('\n');
    if (after('specs') !== '') {
      specs = after('specs').split(' ');
      continue;
    }
    const [, id, breaks] = /^([a-z0-9-]+): (.+)$/.exec(lines[0]!) ?? [];
    if (id === undefined) throw new Error(`${module}: no mutant begins with "${lines[0]}"`);
    const texts = { replace: after('-'), by: after('+'), tests: after('tests'), survives: after('survives') };
    mutants.push({ name: `${module}/${id}`, breaks: breaks!, specs, ...texts });
  }
  return mutants;
}

/** Finds the file to change by its text, so that code may move, and the specs by their names. */
export class Locator {
  private readonly sources: ReadonlyMap<string, string>;
  private readonly specs: readonly string[];

  /** @param root of the project */
  constructor(root: string) {
    const files = ['src', 'test'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
    );
    this.specs = files.filter((file) => file.endsWith('spec.ts'));
    const sources = files.filter((file) => /^src\/.*(?<!spec)\.ts$/.test(file));
    this.sources = new Map(sources.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  }

  /** @throws {Error} when the text or a spec does not occur exactly once */
  locate(mutant: Mutant): LocatedMutant {
    if (mutant.replace === '' || mutant.replace === mutant.by) throw new Error('it changes nothing');
    const places = [...this.sources].flatMap(([file, text]) =>
      [...text.matchAll(new RegExp(patternOf(mutant.replace), 'g'))].map(() => file),
    );
    if (places.length !== 1) {
      const where = places.length === 0 ? '' : ` (${places.join(', ')})`;
      throw new Error(`its text occurs ${places.length} times in src${where}: ${mutant.replace}`);
    }
    return { ...mutant, file: places[0]!, specFiles: mutant.specs.map((name) => this.specFile(name)) };
  }

  mutated({ file, replace, by }: LocatedMutant): string {
    return this.sources.get(file)!.replace(new RegExp(patternOf(replace)), () => by);
  }

  original({ file }: LocatedMutant): string {
    return this.sources.get(file)!;
  }

  private specFile(name: string): string {
    const files = this.specs.filter((file) =>
      `/${file}`.replace(/\.((e2e|process)-)?spec\.ts$/, '').endsWith(`/${name}`),
    );
    if (files.length === 1) return files[0]!;
    throw new Error(`${files.length} specs are named ${name}: ${files.join(', ')}`);
  }
}

function patternOf(text: string): string {
  const parts = text.split(/\s+/).map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return parts.join('\\s+');
}
