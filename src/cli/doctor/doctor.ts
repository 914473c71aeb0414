import { type Config, ConfigError, loadConfigFromProcess } from '../../config/config.js';
import { RESOURCES, SETTINGS } from '../../features.js';
import { clock, keys } from './doctor-machine.js';
import { sqliteChecks } from './doctor-sqlite.js';
import { counters, mendCounters, migrations, unfinishedImports } from './doctor-storage.js';
import { Failure } from '../command-errors.js';

/** One check: returns a text, or throws an error whose message says what is wrong and, after a colon, what to do. */
export type Check = (config: Config) => string | Promise<string>;

const EVERYWHERE: Readonly<Record<string, Check>> = { keys, clock };
const STORAGE: Readonly<Record<string, Check>> = { migrations, counter: counters, import: unfinishedImports };

export interface DoctorOptions {
  readonly fix?: boolean;
}

export async function doctor({ fix = false }: DoctorOptions): Promise<void> {
  const config = settings();
  if (fix) await mend(config);
  const { url } = config.database;
  const checks: Readonly<Record<string, Check>> = {
    ...EVERYWHERE,
    ...(url.engine === 'sqlite' && sqliteChecks(url.path)),
    ...STORAGE,
  };
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      say('ok  ', name, await check(config));
    } catch (error) {
      failed++;
      say('FAIL', name, (error as Error).message);
    }
  }
  if (failed > 0) throw new Failure(`${failed} of ${Object.keys(checks).length + 1} checks failed.`);
}

async function mend(config: Config): Promise<void> {
  for (const done of await mendCounters(config)) say('FIX ', 'counter', done);
}

function settings(): Config {
  try {
    const config = loadConfigFromProcess(SETTINGS);
    say('ok  ', 'settings', `${config.environment}, ${capacities(config)}`);
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const line of error.errors) say('FAIL', 'settings', line);
    throw new Failure('Mend the settings first; the other checks need them.', error);
  }
}

function capacities(config: Config): string {
  return `capacity ${RESOURCES.map(({ name, capacity }) => `${config.get(capacity)} ${name.pluralText}`).join(', ')}`;
}

function say(outcome: 'ok  ' | 'FAIL' | 'FIX ', name: string, detail: string): void {
  console.log(`${outcome}  ${name.padEnd(15)}  ${detail}`);
}
