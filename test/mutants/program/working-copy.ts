import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { unmountBelow } from '../../support/faults/small-volume.js';
import { Compiler } from './compiler.js';
import { mutatedText, type NamedMutant } from './mutant.js';

/** A copy of the working tree in a temporary folder, with one mutant at a time. */
export class WorkingCopy {
  /** Folder for temporary files of the tests. */
  readonly temporary: string;
  private readonly compiler: Compiler;
  /** The file with the current mutant, and its text without it. */
  private mutated?: { readonly file: string; readonly text: string };

  private constructor(readonly folder: string) {
    this.temporary = join(folder, 'tmp');
    this.compiler = new Compiler(folder);
  }

  /** @param root of the project */
  static create(root: string): WorkingCopy {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'mutants-')));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    // Some tests run the service, or PostgreSQL, as another user.
    chmodSync(folder, 0o755);
    for (const file of filesOf(root)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      copyFileSync(join(root, file), join(folder, file));
    }
    symlinkSync(realpathSync(join(root, 'node_modules')), join(folder, 'node_modules'));
    const copy = new WorkingCopy(folder);
    copy.emptyTemporary();
    const errors = copy.build();
    if (errors.length > 0) throw new Error(`Without any mutant the project does not compile:\n${errors.join('\n')}`);
    return copy;
  }

  /**
   * Replaces the current mutant, and builds `dist`.
   * @returns errors of the compiler; then `dist` is not built
   */
  apply(mutant: NamedMutant): string[] {
    this.undo();
    const { file } = mutant;
    this.mutated = { file, text: readFileSync(join(this.folder, file), 'utf8') };
    writeFileSync(join(this.folder, file), mutatedText(this.folder, mutant));
    this.compiler.reread(file);
    return this.build();
  }

  /** Removes the current mutant. */
  restore(): void {
    if (this.mutated === undefined) return;
    this.undo();
    this.build();
  }

  emptyTemporary(): void {
    unmountBelow(this.temporary);
    rmSync(this.temporary, { recursive: true, force: true });
    mkdirSync(this.temporary);
    chmodSync(this.temporary, 0o1777);
  }

  private build(): string[] {
    const errors = this.compiler.compile();
    // Without the stamp the tests would build again.
    if (errors.length === 0) writeFileSync(join(this.folder, 'dist/.built'), '');
    return errors;
  }

  private undo(): void {
    if (this.mutated === undefined) return;
    const { file, text } = this.mutated;
    writeFileSync(join(this.folder, file), text);
    this.compiler.reread(file);
    this.mutated = undefined;
  }
}

/** Files that git would commit, with uncommitted changes. */
function filesOf(root: string): string[] {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  // A file that is deleted but not committed is still listed.
  return [...new Set(list.split('\0'))].filter((file) => file !== '' && existsSync(join(root, file)));
}
