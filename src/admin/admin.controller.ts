import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController, type OpenAPIObject } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { Scopes } from '../auth/scopes.decorator.js';
import { Config } from '../config/config.js';
import { serviceVersion } from '../config/service-version.js';
import { committed } from '../database/engine.js';
import { newestBackups } from '../management/backup-files.js';
import { withinTimeout } from '../management/database-timeout.js';
import { Health } from '../management/health.js';
import type { Readiness } from '../management/management-routes.js';
import { type ReportedResource, ReportedResources } from '../management/reported-resources.js';

/** Maximum number of backups on the page. */
const MOST_BACKUPS = 10;

interface ResourceStatus extends Pick<ReportedResource, 'resource' | 'text' | 'capacity' | 'audited'> {
  /** The number of records; null if the database does not respond. */
  readonly count: number | null;
}

interface Backups {
  /** Newest first, with the UTC time in RFC 3339 and the size in bytes. */
  readonly files: readonly { readonly name: string; readonly time: string; readonly size: number }[];
  /** Why the folder cannot be read. */
  readonly problem?: string;
}

interface Status {
  readonly version: string;
  readonly health: Readiness;
  readonly resources: readonly ResourceStatus[];
  /** Null without `BACKUP_DIR`. */
  readonly backups: Backups | null;
}

/** The data of the page at `/admin`. These routes are not part of the published interface. */
@Controller('admin')
@Scopes('admin:read')
@ApiExcludeController()
export class AdminController {
  /** Makes the OpenAPI document. `serveAdminPage` sets it, because only the application can make the document. */
  makeDocument!: () => Promise<OpenAPIObject>;
  private backupsInProgress?: Promise<Backups>;

  constructor(
    private readonly config: Config,
    private readonly health: Health,
    private readonly resources: ReportedResources,
    private readonly dataSource: DataSource,
  ) {}

  /** The OpenAPI document, even if `DOCS` does not publish it. */
  @Get('document')
  document(): Promise<OpenAPIObject> {
    return this.makeDocument();
  }

  @Get('status')
  async status(): Promise<Status> {
    const folder = this.config.database.backupFolder;
    const [health, resources, backups] = await Promise.all([
      this.health.readiness(),
      Promise.all(this.resources.all.map((resource) => this.statusOf(resource))),
      folder === undefined ? null : this.backupsIn(folder),
    ]);
    return { version: serviceVersion(), health, resources, backups };
  }

  private async statusOf(reported: ReportedResource): Promise<ResourceStatus> {
    const { resource, text, capacity, audited } = reported;
    const counting = reported.usage(committed(this.dataSource)).then(
      ({ count }) => count,
      () => null,
    );
    return { resource, text, capacity, audited, count: await withinTimeout(counting, null) };
  }

  /** Reads the folder once for concurrent requests, because a network drive may not respond. */
  private backupsIn(folder: string): Promise<Backups> {
    this.backupsInProgress ??= readBackups(folder).finally(() => (this.backupsInProgress = undefined));
    return withinTimeout(this.backupsInProgress, { files: [], problem: 'BACKUP_DIR does not respond' });
  }
}

async function readBackups(folder: string): Promise<Backups> {
  try {
    const newest = await newestBackups(folder, MOST_BACKUPS);
    return { files: newest.map(({ name, time, size }) => ({ name, time: new Date(time).toISOString(), size })) };
  } catch (error) {
    return { files: [], problem: `BACKUP_DIR cannot be read: ${(error as Error).message}` };
  }
}
