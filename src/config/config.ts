import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { LiveSettings } from './live-values.js';
import { PLATFORM_SETTINGS } from './platform-settings.js';
import { type PlatformValues, RULES } from './rules.js';
import { type Environment, problemOf, type Setting, settingsIn, valuesIn } from './setting.js';

export type { Environment };

/** Every setting of the service, validated. Times are in milliseconds. */
// An interface, because a class cannot take its fields from the declarations of the settings.
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging
export interface Config extends PlatformValues {
  /** The worker process that has this configuration; absent without workers. */
  readonly worker?: {
    /** Name for the log, such as `Worker 2`. */
    readonly name: string;
    /** Whether this worker does the work that is needed once after a start. */
    readonly isFirst: boolean;
  };
  /** The values of all settings by name; see `get`. */
  readonly settings: ReadonlyMap<string, unknown>;
  /** The settings that may change while the service runs, by name. */
  readonly live: LiveSettings;
}

// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging
export class Config {
  constructor(values: Pick<Config, keyof PlatformValues | 'worker' | 'settings' | 'live'>) {
    Object.assign(this, values);
    Object.freeze(this);
  }

  /** This configuration with other values of settings, by name. */
  with(values: ReadonlyMap<string, unknown>): Config {
    return new Config({
      ...this,
      ...valuesIn(PLATFORM_SETTINGS, ({ name }, value) => (values.has(name) ? values.get(name) : value), this),
      settings: new Map([...this.settings, ...values]),
    });
  }

  get servesDocs(): boolean {
    return this.docs ?? this.environment !== 'production';
  }

  /** Maximum number of lists that are made at the same time: pages, and the first parts of long lists. */
  get listsInProgress(): number {
    return this.database.url.engine === 'sqlite' ? 16 : this.database.listPoolSize;
  }

  /** Maximum number of long lists that are read at the same time. */
  get listStreams(): number {
    return this.database.url.engine === 'sqlite' ? 48 : Math.floor((this.database.listPoolSize * 3) / 4);
  }

  /**
   * The value of a setting. It may be `undefined` for a setting without a default.
   * @throws {Error} for a setting that is not listed in `src/features.ts`, and so was not read
   */
  get<T>(setting: Setting<T> & { readonly default: string }): T;
  get<T>(setting: Setting<T>): T | undefined;
  get(setting: Setting): unknown {
    if (!this.settings.has(setting.name)) {
      throw new Error(
        `List ${setting.name} in src/features.ts: it was not read; a test that calls loadConfig passes SETTINGS from there`,
      );
    }
    return this.settings.get(setting.name);
  }
}

/** The environment is wrong. `errors` has one line for each wrong variable. */
export class ConfigError extends Error {
  constructor(readonly errors: string[]) {
    super(`The configuration is wrong:\n${errors.map((line) => `  - ${line}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/**
 * Reads and validates the whole configuration.
 * @param ofFeatures the settings of features
 * @throws {ConfigError} naming every wrong variable
 * @throws {Error} for two settings of one name
 */
export function loadConfig(environment: Environment, ofFeatures: readonly Setting[] = []): Config {
  const errors: string[] = [];
  const settings = allSettings(ofFeatures);
  const values = new Map<Setting, unknown>();
  for (const setting of settings) {
    try {
      const text = textOf(setting, environment) ?? setting.default;
      values.set(setting, text === undefined ? undefined : setting.parse(text));
    } catch (error) {
      errors.push(problemOf(setting, error));
    }
  }
  errors.push(...misspelledNames(environment, settings));
  const platform = valuesIn(PLATFORM_SETTINGS, (setting) => values.get(setting));
  errors.push(...RULES.flatMap((rule) => rule(platform, (setting) => isSet(setting, environment))));
  if (errors.length > 0) throw new ConfigError(errors);
  return new Config({
    ...platform,
    settings: new Map(settings.map((setting) => [setting.name, values.get(setting)])),
    live: new Map(settings.filter(({ live }) => live).map((setting) => [setting.name, setting])),
  });
}

/** The settings of the platform, then the settings of features. */
export function allSettings(ofFeatures: readonly Setting[]): readonly Setting[] {
  const settings = [...settingsIn(PLATFORM_SETTINGS), ...ofFeatures];
  const names = new Set<string>();
  for (const { name } of settings) {
    if (names.has(name)) throw new Error(`${name} is declared twice`);
    names.add(name);
  }
  return settings;
}

/**
 * Reads the environment of the process, and in development `.env`, whose variables have lower priority.
 * @param ofFeatures `SETTINGS` of `src/features.ts`
 */
export function loadConfigFromProcess(ofFeatures: readonly Setting[]): Config {
  if (process.env['NODE_ENV'] === 'production') return loadConfig(process.env, ofFeatures);
  let file: Environment = {};
  try {
    // Editors on Windows write a byte-order mark.
    file = parseEnv(readFileSync('.env', 'utf8').replace(/^\uFEFF/, ''));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new ConfigError([`.env cannot be read: ${(error as Error).message}`]);
    }
  }
  return loadConfig({ ...file, ...process.env }, ofFeatures);
}

/**
 * The text of a setting, from its variable or from the file of its `_FILE` variable.
 * @throws {Error} with the problem
 */
function textOf({ name, file }: Setting, environment: Environment): string | undefined {
  const text = variable(name, environment);
  const path = file ? variable(`${name}_FILE`, environment) : undefined;
  if (path === undefined) return text;
  if (text !== undefined) throw new Error(`and ${name}_FILE are both set; set one of them`);
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new Error(`cannot be read from the file that ${name}_FILE names: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Tells whether the operator has set the variable, correctly or not. */
function isSet({ name, file = false }: Setting, environment: Environment): boolean {
  return variable(name, environment) !== undefined || (file && variable(`${name}_FILE`, environment) !== undefined);
}

/** The text of a variable; `undefined` for an empty one, because Compose and shells pass unset variables on as empty. */
function variable(name: string, environment: Environment): string | undefined {
  return environment[name] || undefined;
}

/** A message for each unknown variable whose name resembles that of a setting. */
function misspelledNames(environment: Environment, settings: readonly Setting[]): string[] {
  const known = settings.flatMap(({ name, file }) => (file ? [name, `${name}_FILE`] : [name]));
  const unknown = Object.keys(environment).filter((name) => !known.includes(name));
  return unknown.flatMap((name) => {
    const meant = known.find((each) => isCutOff(name, each) || isSimilar(lettersOf(each), lettersOf(name)));
    return meant === undefined ? [] : [`${name} is not a setting of this service; did you mean ${meant}?`];
  });
}

/** Tells whether a name ends within a word of a setting: `JWT_AUD`. */
const isCutOff = (name: string, setting: string): boolean =>
  name.length >= 6 && setting.startsWith(name) && setting[name.length] !== '_';

const lettersOf = (name: string): string => name.toUpperCase().replaceAll('_', '');

/** Tells whether two names of six letters or more differ by one letter, or by two neighbours that are wrong or swapped. */
function isSimilar(one: string, other: string): boolean {
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  let begin = 0;
  while (begin < shorter.length && shorter[begin] === longer[begin]) begin++;
  let end = 0;
  while (end < shorter.length - begin && shorter.at(-1 - end) === longer.at(-1 - end)) end++;
  const most = shorter.length === longer.length ? 2 : 1;
  return shorter.length >= 6 && longer.length - begin - end <= most;
}
