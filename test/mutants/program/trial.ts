import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unmountBelow } from '../../support/faults/small-volume.js';
import { onServer, PostgresServer } from '../../support/postgres/postgres-server.js';
import { ProjectCopy } from '../../support/project/project-copy.js';
import type { LocatedMutant, Locator } from './mutant.js';
import { runSpecs, type SpecRun } from './spec-run.js';

/** `invalid`: the compiler rejects the mutant, or its specs fail or run no test without it. */
export interface Result {
  readonly outcome: 'killed' | 'survived' | 'invalid';
  /** The failed test, or the reason. */
  readonly reason: string;
}

const TSC = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--incremental'];
/** A mutant may leave unused code, which a maintainer would remove, too. */
const LENIENT = ['--noEmitOnError', '--noUnusedLocals', 'false', '--noUnusedParameters', 'false'];

/** Tries one mutant after the other in a copy of the working tree, with a separate PostgreSQL server. */
export class Trial {
  private readonly temporary: string;
  /** Runs of whole specs without a mutant, by file. */
  private readonly unmutated = new Map<string, SpecRun>();

  private constructor(
    private readonly copy: ProjectCopy,
    private readonly server: PostgresServer,
    private readonly locator: Locator,
  ) {
    this.temporary = join(copy.folder, 'tmp');
  }

  static async create(root: string, locator: Locator): Promise<Trial> {
    const copy = new ProjectCopy(root);
    // Some tests run the service, or PostgreSQL, as another user.
    chmodSync(copy.folder, 0o755);
    process.once('exit', () => rmSync(copy.folder, { recursive: true }));
    const server = await PostgresServer.create({ fsync: 'off', max_connections: '300', shared_buffers: '32MB' });
    process.once('exit', () => void server.stop('SIGQUIT'));
    const trial = new Trial(copy, server, locator);
    const errors = trial.build();
    if (errors !== '') throw new Error(`Without any mutant the project does not compile:\n${errors}`);
    return trial;
  }

  async try(mutant: LocatedMutant): Promise<Result> {
    const reason = await this.reasonAgainst(mutant);
    if (reason !== undefined) return { outcome: 'invalid', reason };
    const path = join(this.copy.folder, mutant.file);
    writeFileSync(path, this.locator.mutated(mutant));
    try {
      const errors = this.build();
      if (errors !== '') return { outcome: 'invalid', reason: errors };
      const { failure } = await this.run(mutant.specFiles, mutant.tests);
      if (failure === undefined) return { outcome: 'survived', reason: mutant.survives || 'no test noticed it' };
      return { outcome: 'killed', reason: failure.title };
    } finally {
      writeFileSync(path, this.locator.original(mutant));
    }
  }

  stop(): Promise<void> {
    return this.server.remove();
  }

  /** The reason why the specs prove nothing; `undefined` if they pass without a mutant. */
  private async reasonAgainst({ specFiles, tests }: LocatedMutant): Promise<string | undefined> {
    const passed: string[] = [];
    for (const spec of specFiles) {
      if (!this.unmutated.has(spec)) {
        this.build();
        this.unmutated.set(spec, await this.run([spec], ''));
      }
      const { failure, passed: titles } = this.unmutated.get(spec)!;
      if (failure !== undefined) return `without any mutant: ${failure.title}\n${failure.message}`;
      passed.push(...titles);
    }
    return passed.some((title) => new RegExp(tests, 'i').test(title)) ? undefined : `no test is named ${tests}`;
  }

  private async run(specs: readonly string[], tests: string): Promise<SpecRun> {
    mkdirSync(this.temporary);
    chmodSync(this.temporary, 0o1777);
    try {
      return await runSpecs(this.copy.folder, specs, tests, {
        TMPDIR: this.temporary,
        TEST_POSTGRES_URL: this.server.url(),
      });
    } finally {
      unmountBelow(this.temporary);
      rmSync(this.temporary, { recursive: true, force: true });
      await dropDatabases(this.server.url());
    }
  }

  /** Compiles changed files. @returns the errors; then nothing is written */
  private build(): string {
    const { status, stdout } = spawnSync(process.execPath, [...TSC, ...LENIENT], {
      cwd: this.copy.folder,
      encoding: 'utf8',
    });
    return status === 0 ? '' : stdout;
  }
}

/** Drops databases that specs have left, because jest ends at the first failed test. */
async function dropDatabases(url: string): Promise<void> {
  await onServer(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT datname AS name FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres'`,
    );
    for (const { name } of rows) await client.query(`DROP DATABASE "${name}" WITH (FORCE)`);
  });
}
