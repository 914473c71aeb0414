import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { engineOf } from '../database/engine.js';
import { pendingMigrations } from '../database/schema/migrations.js';
import { ReportedResources } from './reported-resources.js';
import { DATABASE_TIMEOUT, sharedReading } from './database-timeout.js';
import type { Readiness } from './management-routes.js';

@Injectable()
export class Health implements OnApplicationBootstrap {
  /** Set when the service begins to stop, before anything is closed. */
  isStopping = false;
  private migrated = false;
  private readonly databaseChecks = sharedReading(() => this.checkDatabase(), SILENT);

  constructor(
    private readonly resources: ReportedResources,
    private readonly dataSource: DataSource,
    private readonly api: HttpAdapterHost,
  ) {}

  /** Checks the migrations before the first request, because load would delay this check. */
  async onApplicationBootstrap(): Promise<void> {
    await outcome(this.checkMigrations());
  }

  /** Checks that the service neither starts nor stops, and that database, migrations and `storage` are in order. */
  async readiness(): Promise<Readiness> {
    const database = await this.databaseChecks();
    const begun = this.api.listening ? 'ok' : 'the service is starting';
    const running = this.isStopping ? 'the service is shutting down' : begun;
    const checks = { running, ...database };
    return { ready: Object.values(checks).every((check) => check === 'ok'), checks };
  }

  private async checkDatabase(): Promise<DatabaseChecks> {
    const database = await outcome(engineOf(this.dataSource).check());
    if (database !== 'ok') return { database, migrations: NOT_KNOWN, storage: NOT_KNOWN };
    const migrations = await outcome(this.checkMigrations());
    const storage = migrations === 'ok' ? await outcome(this.checkStorage()) : NOT_KNOWN;
    return { database, migrations, storage };
  }

  private async checkMigrations(): Promise<void> {
    // Migrations that have run are not checked again.
    if (this.migrated) return;
    const pending = await pendingMigrations(this.dataSource);
    if (pending.length > 0) throw new Error(`not run yet: ${pending.join(', ')}`);
    this.migrated = true;
  }

  private async checkStorage(): Promise<void> {
    for (const resource of this.resources.all) await resource.usage(engineOf(this.dataSource).probes);
  }
}

type DatabaseChecks = Omit<Readiness['checks'], 'running'>;

const NOT_KNOWN = 'not known';
const SILENT: DatabaseChecks = {
  database: `no response within ${DATABASE_TIMEOUT} ms`,
  migrations: NOT_KNOWN,
  storage: NOT_KNOWN,
};

const outcome = (check: Promise<unknown>): Promise<string> =>
  check.then(
    () => 'ok',
    (error: Error) => error.message,
  );
