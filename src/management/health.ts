import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { engineOf } from '../database/engine.js';
import { pendingMigrations } from '../database/migrations.js';
import { Lifecycle } from './lifecycle.js';

/** Whether requests should be sent here; each check says "ok" or what keeps it from being met. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<'running' | 'database' | 'migrations', string>>;
}

/** Milliseconds the database may take to answer before it counts as down. */
const PATIENCE = 2000;

@Injectable()
export class Health {
  private migrated = false;

  constructor(
    private readonly lifecycle: Lifecycle,
    @InjectDataSource() private readonly dataSource: DataSource,
  ) {}

  /** Whether requests should be sent here: not stopping, the database answers, its schema is the code's. */
  async readiness(): Promise<Readiness> {
    const running = this.lifecycle.isStopping ? 'the service is shutting down' : 'ok';
    const database = await outcome(withinPatience(engineOf(this.dataSource).check()));
    const migrations = database === 'ok' ? await outcome(withinPatience(this.checkMigrations())) : 'not known';
    const checks = { running, database, migrations };
    return { ready: Object.values(checks).every((check) => check === 'ok'), checks };
  }

  private async checkMigrations(): Promise<void> {
    // Migrations are only ever added, by whoever starts next: once done they stay done.
    if (this.migrated) return;
    const pending = await pendingMigrations(this.dataSource);
    if (pending.length > 0) throw new Error(`not run yet: ${pending.join(', ')}`);
    this.migrated = true;
  }
}

async function outcome(check: Promise<unknown>): Promise<string> {
  try {
    await check;
    return 'ok';
  } catch (error) {
    return (error as Error).message;
  }
}

async function withinPatience<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE} ms`)), PATIENCE);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
