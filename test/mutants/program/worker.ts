import { PostgresServer, onServer } from '../../support/postgres/postgres-server.js';
import type { NamedMutant } from './mutant.js';
import type { Result, Results } from './results.js';
import type { Sources } from './sources.js';
import { runSpecs, type SpecRun } from './spec-run.js';
import { WorkingCopy } from './working-copy.js';

/** Limit in seconds for specs without a mutant. */
const LONGEST_RUN = 600;

export interface Project {
  readonly root: string;
  readonly sources: Sources;
  readonly results: Results;
  /** Folder of jest's transformed files. */
  readonly cache: string;
}

/** Tries one mutant after the other in its own copy. */
export class Worker {
  private readonly copy: WorkingCopy;
  private postgres?: PostgresServer;

  constructor(private readonly project: Project) {
    this.copy = WorkingCopy.create(project.root);
  }

  async try(mutant: NamedMutant): Promise<Result> {
    const { name } = mutant;
    const key = this.project.sources.keyOf(mutant);
    const unmutated = await this.runUnmutated(mutant);
    if (unmutated.outcome !== 'passed') {
      const message = `without any mutant: ${unmutated.test ?? ''} ${unmutated.message}`;
      return { name, key, outcome: 'invalid', seconds: unmutated.seconds, message };
    }
    const started = performance.now();
    const found = await this.tryMutated(mutant, unmutated.seconds);
    return this.project.results.add({ name, key, ...found, seconds: (performance.now() - started) / 1000 });
  }

  private async tryMutated(
    mutant: NamedMutant,
    secondsWithout: number,
  ): Promise<Omit<Result, 'name' | 'key' | 'seconds'>> {
    const errors = this.copy.apply(mutant);
    if (errors.length > 0) return { outcome: 'invalid', message: errors.join('\n') };
    // A mutant may make the tests slower, and the machine may be busier.
    const run = await this.run(mutant, 20 + 4 * secondsWithout);
    if (run.outcome === 'passed') return { outcome: 'survived' };
    if (run.outcome === 'timed out') return { outcome: 'timed out', message: 'the specs do not end' };
    return { outcome: 'killed', test: titleOf(run), message: run.failure!.message };
  }

  async stop(): Promise<void> {
    await this.postgres?.remove();
  }

  /** A spec that fails without a mutant, or runs no test, proves nothing. It is tried again for the next mutant. */
  private async runUnmutated(mutant: NamedMutant): Promise<Result> {
    const key = this.project.sources.keyOfSpecs(mutant);
    const earlier = this.project.results.get(key);
    if (earlier?.outcome === 'passed') return earlier;
    this.copy.restore();
    const run = await this.run(mutant, LONGEST_RUN);
    const { seconds } = run;
    const name = [...mutant.specs, mutant.tests ?? ''].join(' ').trim();
    if (run.outcome === 'passed' && run.passed > 0)
      return this.project.results.add({ name, key, outcome: 'passed', seconds });
    const message =
      run.outcome === 'passed' ? 'no test has such a title' : (run.failure?.message ?? 'the specs do not end');
    return this.project.results.add({ name, key, outcome: 'failed', seconds, test: titleOf(run), message });
  }

  private async run({ specs, tests }: NamedMutant, limit: number): Promise<SpecRun> {
    const needsPostgres = this.project.sources.needPostgres(specs);
    if (needsPostgres) this.postgres ??= await startPostgres();
    const environment = needsPostgres ? { TEST_POSTGRES_URL: this.postgres!.url() } : undefined;
    const { folder, temporary } = this.copy;
    const { cache } = this.project;
    try {
      return await runSpecs({ folder, temporary, cache, specs, tests, limit, environment });
    } finally {
      this.copy.emptyTemporary();
      if (needsPostgres) await dropDatabases(this.postgres!.url());
    }
  }
}

function titleOf({ failure }: SpecRun): string | undefined {
  return failure === undefined ? undefined : `${failure.spec}: ${failure.title}`;
}

async function startPostgres(): Promise<PostgresServer> {
  const server = await PostgresServer.create({ fsync: 'off', max_connections: '300', shared_buffers: '32MB' });
  process.once('exit', () => void server.stop('SIGQUIT'));
  return server;
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
