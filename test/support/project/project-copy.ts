import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Options, transformSync } from '@swc/core';
import { SWC_OPTIONS } from '../jest/swc-options.js';
import { temporaryFolder } from '../service.js';

const ROOT = join(import.meta.dirname, '../../..');
const FOLDERS = ['src', 'migrations', 'test', 'scripts', 'deploy', 'dist'];
const FILES =
  /^(ormconfig\.ts|package\.json|nest-cli\.json|jest\.config\.js|tsconfig.*\.json|eslint\..*\.js|\.prettier.*|\.env\.example|README\.md|Dockerfile|compose.*\.yaml)$/;

const run = promisify(execFile);

export interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A copy of the working tree with the installed packages, for tests that add files to it. */
export class ProjectCopy {
  readonly folder = temporaryFolder();
  private readonly original: ReadonlyMap<string, string>;

  /** @param root of the project */
  constructor(root = ROOT) {
    const names = [...FOLDERS, ...readdirSync(root).filter((name) => FILES.test(name))];
    for (const name of names.filter((each) => existsSync(join(root, each)))) {
      cpSync(join(root, name), join(this.folder, name), { recursive: true, preserveTimestamps: true });
    }
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
    this.original = new Map(this.sources());
    this.setBuilt();
  }

  /** Compiles the sources that were added or changed, without a check of types, which takes half a minute. */
  compile(): void {
    for (const [name, text] of this.sources()) {
      if (this.original.get(name) === text) continue;
      const file = join(this.folder, 'dist', name.replace(/\.ts$/, '.js'));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, transformSync(text, SWC_OPTIONS as Options).code);
    }
    this.setBuilt();
  }

  /** The folders of the copy are new. If the build looked older than they are, it would be repeated. */
  private setBuilt(): void {
    const built = join(this.folder, 'dist/.built');
    if (existsSync(built)) writeFileSync(built, '');
  }

  private sources(): [name: string, text: string][] {
    const names = this.files().filter((name) => /^(src|migrations)\/.*(?<!\.spec)\.ts$/.test(name));
    return names.map((name) => [name, readFileSync(join(this.folder, name), 'utf8')]);
  }

  /** The source files, as paths from the top. */
  files(): string[] {
    return ['src', 'migrations', 'test'].flatMap((folder) =>
      readdirSync(join(this.folder, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    );
  }

  /** Runs a script of Node. */
  async node(...args: string[]): Promise<Ended> {
    const { PATH, TEST_POSTGRES_URL } = process.env;
    try {
      const options = { cwd: this.folder, env: { PATH, TEST_POSTGRES_URL }, maxBuffer: 2 ** 24 };
      return { status: 0, ...(await run(process.execPath, args, options)) };
    } catch (error) {
      const { code, stdout, stderr } = error as { code?: unknown } & Omit<Ended, 'status'>;
      if (typeof code !== 'number') throw error;
      return { status: code, stdout, stderr };
    }
  }

  /** Runs a program of the installed packages and expects success. */
  async program(path: string, ...args: string[]): Promise<string> {
    const ended = await this.node('--experimental-vm-modules', join('node_modules', path), ...args);
    if (ended.status !== 0) throw new Error(`${path} ${args.join(' ')} failed:\n${ended.stdout}\n${ended.stderr}`);
    return ended.stdout + ended.stderr;
  }
}
