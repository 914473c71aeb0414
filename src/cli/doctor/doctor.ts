import { type Config, ConfigError, loadConfigFromProcess } from '../../config/config.js';
import { clock, keys } from './doctor-machine.js';
import { sqliteChecks } from './doctor-sqlite.js';
import { counter, mendCounter, migrations, unfinishedImport } from './doctor-storage.js';
import { Failure } from '../errors.js';

/** Looks at one thing. Gives what it saw, or throws an error that says what is wrong and, behind a colon, what to do. */
export type Check = (config: Config) => string | Promise<string>;

const EVERYWHERE: Readonly<Record<string, Check>> = { keys, clock };
const STORAGE: Readonly<Record<string, Check>> = { migrations, counter, import: unfinishedImport };

export interface DoctorOptions {
  readonly fix?: boolean;
}

export async function doctor({ fix = false }: DoctorOptions): Promise<void> {
  const config = settings();
  if (fix) await mend(config);
  const { database } = config;
  const checks: Readonly<Record<string, Check>> = {
    ...EVERYWHERE,
    ...(database.engine === 'sqlite' && sqliteChecks(database.path)),
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
  const done = await mendCounter(config);
  if (done !== undefined) say('FIX ', 'counter', done);
}

function settings(): Config {
  try {
    const config = loadConfigFromProcess();
    say('ok  ', 'settings', `${config.environment}, capacity ${config.cookiesCapacity}`);
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const line of error.errors) say('FAIL', 'settings', line);
    throw new Failure('Mend the settings first; the other checks need them.', error);
  }
}

function say(outcome: 'ok  ' | 'FAIL' | 'FIX ', name: string, detail: string): void {
  console.log(`${outcome}  ${name.padEnd(15)}  ${detail}`);
}
