import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { type Environment, loadConfig } from '../../src/config/config.js';
import { createDataSource } from '../../src/database/data-source.js';
import { environmentIn, temporaryFolder } from './service.js';

/**
 * Opens a data source without the service, and silences the log, which Nest would write to stdout.
 * @param folder of the database; default: a new one
 */
export async function openDataSource(
  environment: Environment = {},
  entities?: Parameters<typeof createDataSource>[1],
  folder = temporaryFolder(),
): Promise<DataSource & AsyncDisposable> {
  Logger.overrideLogger(false);
  const dataSource = await createDataSource(loadConfig(environmentIn(folder, environment)), entities);
  await dataSource.initialize();
  return Object.assign(dataSource, { [Symbol.asyncDispose]: () => dataSource.destroy() });
}

export async function warningsDuring(work: () => Promise<unknown>): Promise<string[]> {
  const warnings: string[] = [];
  const ignore = (): void => undefined;
  Logger.overrideLogger({ log: ignore, error: ignore, warn: (line: string) => warnings.push(line) });
  try {
    await work();
  } finally {
    Logger.overrideLogger(false);
  }
  return warnings;
}
