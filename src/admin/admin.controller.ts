import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController, type OpenAPIObject } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { Scopes } from '../auth/scopes.decorator.js';
import { Config } from '../config/config.js';
import { serviceVersion } from '../config/service-version.js';
import { newestBackups } from '../management/backup-files.js';
import { sharedReading } from '../management/database-timeout.js';
import { Health } from '../management/health.js';
import { recordCount, type ReportedResource, ReportedResources } from '../management/reported-resources.js';

const MOST_BACKUPS = 10;

/** The data of the page at `/admin`. These routes are not part of the published interface. */
@Controller('admin')
@Scopes('admin:read')
@ApiExcludeController()
export class AdminController {
  /** Makes the OpenAPI document. `serveAdminPage` sets it, because only the application can make the document. */
  makeDocument!: () => OpenAPIObject;
  /** Absent without `BACKUP_DIR`. */
  private readonly backups?: () => ReturnType<typeof readBackups>;

  constructor(
    config: Config,
    private readonly health: Health,
    private readonly resources: ReportedResources,
    private readonly dataSource: DataSource,
  ) {
    const { backupFolder } = config.database;
    const silent = { files: [], problem: 'BACKUP_DIR does not respond' };
    if (backupFolder !== undefined) this.backups = sharedReading(() => readBackups(backupFolder), silent);
  }

  /** The OpenAPI document, even if `DOCS` does not publish it. */
  @Get('document')
  document(): OpenAPIObject {
    return this.makeDocument();
  }

  @Get('status')
  async status() {
    const [health, resources, backups = null] = await Promise.all([
      this.health.readiness(),
      Promise.all(this.resources.all.map((resource) => this.statusOf(resource))),
      this.backups?.(),
    ]);
    return { version: serviceVersion(), health, resources, backups };
  }

  /** Its `count` is null if the database does not respond. */
  private async statusOf(reported: ReportedResource) {
    const { resource, text, capacity, audited } = reported;
    const count = (await recordCount(reported, this.dataSource)) ?? null;
    return { resource, text, capacity, audited, count };
  }
}

/** The newest backups first, with the UTC time in RFC 3339 and the size in bytes, or a problem of the folder. */
async function readBackups(folder: string) {
  try {
    const newest = await newestBackups(folder, MOST_BACKUPS);
    return { files: newest.map(({ name, time, size }) => ({ name, time: new Date(time).toISOString(), size })) };
  } catch (error) {
    return { files: [], problem: `BACKUP_DIR cannot be read: ${(error as Error).message}` };
  }
}
