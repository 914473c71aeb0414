import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { NamedMutant } from './mutant.js';

/** Files on which every test depends. */
const SERVICE = ['src', 'migrations', 'ormconfig.ts', 'package-lock.json', 'jest.config.js', 'tsconfig.json'];

/** Finds out on which files a result depends, and what a spec needs. */
export class Sources {
  private readonly texts = new Map<string, string>();
  private readonly service: string;

  constructor(private readonly root: string) {
    const files = SERVICE.flatMap((path) => this.filesIn(path)).filter((file) => !file.endsWith('spec.ts'));
    this.service = digest(files.flatMap((file) => [file, this.read(file)]));
  }

  /** Changes with the mutant, the service, the specs and their imports, not with files that they only read. */
  keyOf(mutant: NamedMutant): string {
    const { id, file, replace, by } = mutant;
    return digest([id, file, replace, by, this.keyOfSpecs(mutant)]);
  }

  /** `keyOf` for the specs without a mutant. */
  keyOfSpecs({ specs, tests }: NamedMutant): string {
    const files = [...this.importedBy(specs)].sort();
    return digest([this.service, tests ?? '', ...files.flatMap((file) => [file, this.read(file)])]);
  }

  /** Tells whether a spec uses the PostgreSQL server of the test run. */
  needPostgres(specs: readonly string[]): boolean {
    const files = [...this.importedBy(specs)].filter((file) => file !== 'test/support/engine.ts');
    return files.some((file) => /\b(usePostgres|serverUrl|createDatabase)\(/.test(this.read(file)));
  }

  /** The specs and all their imports outside `src`. */
  private importedBy(specs: readonly string[]): Set<string> {
    const files = new Set(specs);
    for (const file of files) {
      for (const [, target] of this.read(file).matchAll(/(?:from|import|import\()\s*'(\.[^']+)'/g)) {
        const path = join(dirname(file), target!).replace(/\.js$/, '.ts');
        if (!path.startsWith('src/') && existsSync(join(this.root, path))) files.add(path);
      }
    }
    return files;
  }

  private filesIn(path: string): string[] {
    if (!statSync(join(this.root, path)).isDirectory()) return [path];
    const entries = readdirSync(join(this.root, path), { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.root.length + 1))
      .sort();
  }

  private read(file: string): string {
    const text = this.texts.get(file) ?? readFileSync(join(this.root, file), 'utf8');
    this.texts.set(file, text);
    return text;
  }
}

function digest(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex').slice(0, 32);
}
