import { Injectable, Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { Config } from '../../config/config.js';
import { parseSetting, problemOf } from '../../config/setting.js';
import { committed, transaction } from '../engine.js';
import { type PolledRow, type PolledTables, readTable } from './polled-tables.js';

const LIVE_SETTINGS = { name: 'live_settings', columns: ['name', 'value', 'changed', 'changed_by'] } as const;

/** A value that `cli set` has stored. `changed` is in milliseconds since 1970. */
export type StoredSetting = PolledRow<(typeof LIVE_SETTINGS.columns)[number]>;

/** Called with the configuration in force. If it rejects, it is called again after some seconds. */
type Listener = (config: Config) => void | Promise<void>;

/** The configuration in force: the environment, overridden by the table `live_settings`, which `cli set` writes. */
@Injectable()
export class LiveConfig {
  stored: readonly StoredSetting[] = [];
  current: Config;
  private readonly logger = new Logger('Settings');
  private readonly listeners: Listener[] = [];

  /** @param config of the environment */
  private constructor(private readonly config: Config) {
    this.current = config;
  }

  static async load(config: Config, polled: PolledTables): Promise<LiveConfig> {
    const live = new LiveConfig(config);
    await polled.watch({ ...LIVE_SETTINGS, onChange: (rows) => live.apply(rows) });
    return live;
  }

  /** Calls the listener with the configuration in force, now and after each change. */
  async onChange(listener: Listener): Promise<void> {
    let config: Config;
    // The configuration may change while the listener runs.
    do {
      config = this.current;
      await listener(config);
    } while (config !== this.current);
    this.listeners.push(listener);
  }

  private async apply(rows: readonly StoredSetting[]): Promise<void> {
    const { config, stored, problems } = inForce(this.config, rows);
    this.current = config;
    for (const listener of this.listeners) await listener(config);
    for (const problem of problems) this.logger.warn(`A row of live_settings is ignored: ${problem}`);
    this.logChanges(stored);
    this.stored = stored;
  }

  private logChanges(stored: readonly StoredSetting[]): void {
    const before = new Set(this.stored.map(describeStored));
    for (const text of stored.map(describeStored).filter((each) => !before.has(each))) this.logger.log(text);
    const names = new Set(stored.map(({ name }) => name));
    for (const { name } of this.stored.filter((each) => !names.has(each.name))) {
      this.logger.log(`${name} is unset; the environment is in force again`);
    }
  }
}

/** A stored setting in one line, with the time of its change and who made it. */
export function describeStored({ name, value, changed, changed_by }: StoredSetting): string {
  // A time that was written by hand may be invalid: then it is `null`.
  return `${name}=${value}, set ${new Date(Number(changed)).toJSON()} by ${changed_by}`;
}

/** The settings that may change while the service runs, with the value (or '') in `config` and the row of `cli set`. */
export function settingsInForce(config: Config, rows: readonly StoredSetting[]) {
  return config.live.map((setting) => {
    const { name } = setting;
    const value = config.get(setting);
    return {
      name,
      value: value === undefined ? '' : JSON.stringify(value).replaceAll('"', ''),
      stored: rows.find((row) => row.name === name),
    };
  });
}

/** Stores values of settings by name, or deletes those that are `undefined`, as changed by the user `by`. */
export async function storeSettings(
  dataSource: DataSource,
  changes: ReadonlyMap<string, string | undefined>,
  by: string,
): Promise<void> {
  await transaction(
    dataSource,
    async (tx) => {
      for (const [name, value] of changes) {
        if (value === undefined) await tx.sql`DELETE FROM live_settings WHERE name = ${name}`;
        else {
          await tx.sql`
            INSERT INTO live_settings (name, value, changed, changed_by) VALUES (${name}, ${value}, ${Date.now()}, ${by})
            ON CONFLICT (name) DO UPDATE
            SET value = excluded.value, changed = excluded.changed, changed_by = excluded.changed_by`;
        }
      }
    },
    // Maintenance must be possible on a full volume.
    { reclaimsSpace: true },
  );
}

export function storedSettings(dataSource: DataSource): Promise<StoredSetting[]> {
  return readTable(committed(dataSource), LIVE_SETTINGS);
}

/** The configuration with the values of the rows. Rows with a problem are ignored. */
export function inForce(config: Config, rows: readonly StoredSetting[]) {
  let current = config;
  const stored: StoredSetting[] = [];
  const apply = (row: StoredSetting): void => {
    const setting = config.liveSetting(row.name);
    const value = parseSetting(setting, () => row.value);
    current = current.with(setting, value);
    stored.push(row);
  };
  const problems = rows.flatMap((row) => problemOf(() => apply(row)) ?? []);
  return { config: current, stored, problems };
}
