import { rmSync } from 'node:fs';
import { Logger, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import { AppModule } from '../../src/app.module.js';
import { loadConfig } from '../../src/config/config.js';
import { createDataSource } from '../../src/database/data-source.js';
import { migrate } from '../../src/database/schema/migrations.js';
import { SETTINGS } from '../../src/features.js';
import { UsageModule } from '../../src/resource/usage/usage.module.js';
import { engineInUse, provideDatabase } from '../support/engine.js';
import { Client, COOKIE, environmentIn, type Service, startService, temporaryFolder } from '../support/service.js';

/** A feature whose records are counted. */
@Module({ imports: [UsageModule.forFeature({ resource: 'lids', capacity: () => 10 })] })
class LidsModule {}

beforeAll(() => Logger.overrideLogger(false));

describe('a resource whose records the database deletes or changes by itself', () => {
  /** Starts the application on a schema in which `lids` refer to `jars`, and says why it did not start. */
  const startWith = async (onDelete: string): Promise<string> => {
    const folder = temporaryFolder();
    await provideDatabase(folder);
    const config = loadConfig(environmentIn(folder), SETTINGS);
    const dataSource = await createDataSource(config);
    await dataSource.initialize();
    await migrate(dataSource);
    await dataSource.query('CREATE TABLE jars (id integer PRIMARY KEY)');
    await dataSource.query(
      `CREATE TABLE lids (id integer PRIMARY KEY, jar integer REFERENCES jars (id) ON DELETE ${onDelete})`,
    );
    await dataSource.query(`INSERT INTO storage (resource, epoch, revision, used) VALUES ('lids', 'e', 0, 0)`);
    await dataSource.destroy();
    const module = await Test.createTestingModule({ imports: [AppModule.forRoot(config), LidsModule] }).compile();
    const outcome = await module.init().then(
      () => 'started',
      (error: Error) => error.message,
    );
    // An application whose start has failed never closes.
    if (outcome === 'started') await module.close();
    else await module.get(DataSource).destroy();
    rmSync(folder, { recursive: true, force: true });
    return outcome;
  };

  it.each(['CASCADE', 'SET NULL', 'SET DEFAULT'])(
    'stops the start, since its count would be wrong: %s',
    async (action) => {
      const message = await startWith(action);
      expect(message).toContain(`The foreign key of lids (jar) to jars is ON DELETE ${action}`);
      expect(message).toContain('ON DELETE RESTRICT');
    },
  );

  it.each(['RESTRICT', 'NO ACTION'])(
    'may refer to others where the database rejects the delete: %s',
    async (action) => {
      expect(await startWith(action)).toBe('started');
    },
  );
});

describe('a resource without its storage row', () => {
  let service: Service;
  let client: Client;
  let dataSource: DataSource;

  beforeAll(async () => {
    service = await startService({ LOG_LEVEL: 'silent' });
    client = await Client.of(service);
    dataSource = service.app.get(DataSource);
    await client.post(COOKIE);
  });

  afterAll(() => service.stop());

  const ready = async (): Promise<{ status: number; storage: string }> => {
    const response = await fetch(`${service.managementUrl}/health/ready`);
    const { checks } = (await response.json()) as { checks: { storage: string } };
    return { status: response.status, storage: checks.storage };
  };

  it.each<[method: string, path: string, body: object | undefined]>([
    ['GET', '/cookies/1', undefined],
    ['GET', '/cookies', undefined],
    ['POST', '/cookies', COOKIE],
    ['PUT', '/cookies/1', { flavor: 'vanilla', size: 'small' }],
    ['PATCH', '/cookies/1', {}],
    ['PATCH', '/cookies/1', { size: 'large' }],
    ['DELETE', '/cookies/1', undefined],
  ])(
    `makes %s %s 500 and the service not ready, until the row is back (${engineInUse()})`,
    async (method, path, body) => {
      const [row] = await dataSource.query(`SELECT epoch, revision, used FROM storage WHERE resource = 'cookies'`);
      expect(await ready()).toEqual({ status: 200, storage: 'ok' });
      await dataSource.query(`DELETE FROM storage WHERE resource = 'cookies'`);
      expect((await client.request(method, path, { body })).status).toBe(500);
      expect(await ready()).toEqual({ status: 503, storage: expect.stringContaining('no row for "cookies"') });
      await dataSource.query(
        `INSERT INTO storage (resource, epoch, revision, used) VALUES ('cookies', '${row.epoch}', ${row.revision}, ${row.used})`,
      );
      expect(await ready()).toEqual({ status: 200, storage: 'ok' });
      expect((await client.get('/cookies/1')).status).toBe(200);
    },
  );
});
