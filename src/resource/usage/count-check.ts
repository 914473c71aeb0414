import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../../config/config.js';
import { CLI } from '../../config/program-names.js';
import { LiveConfig } from '../../database/polling/live-config.js';
import { ReportedResources } from '../../management/reported-resources.js';
import { prepareStorage, storedCount } from './storage-row.js';

/**
 * Prepares the `storage` rows before the start and when a capacity changes. After the start, it compares each count
 * with the records once. They differ only if `storage` was changed by hand, triggers were off, or the file is damaged.
 */
@Injectable()
export class CountCheck implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Storage');
  private readonly stop = new AbortController();
  private running?: Promise<void>;

  constructor(
    private readonly resources: ReportedResources,
    private readonly config: Config,
    private readonly live: LiveConfig,
    private readonly dataSource: DataSource,
  ) {}

  async onModuleInit(): Promise<void> {
    // The counters already have the new capacities: their listeners were added earlier.
    await this.live.onChange(async () => {
      for (const resource of this.resources.all) await prepareStorage(this.dataSource, resource);
    });
  }

  onApplicationBootstrap(): void {
    if (this.config.worker?.isFirst === false) return;
    this.running = this.checkAll();
  }

  async onModuleDestroy(): Promise<void> {
    this.stop.abort();
    await this.running;
  }

  private async checkAll(): Promise<void> {
    for (const { resource } of this.resources.all) {
      try {
        await this.check(resource);
      } catch (error) {
        if (this.stop.signal.aborted) return;
        this.logger.warn(`The counter of ${resource} was not checked (${(error as Error).message}): run ${CLI} doctor`);
      }
    }
  }

  private async check(resource: string): Promise<void> {
    const found = await storedCount(this.dataSource, resource, this.stop.signal);
    if (found === undefined || found.used === found.count) return;
    this.logger.error(
      `The counter of ${resource} says ${found.used}, and there are ${found.count}: "storage" was changed, or triggers were ` +
        `off. Run ${CLI} doctor --fix, which counts them again`,
    );
  }
}
