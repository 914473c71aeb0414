import { isUtf8 } from 'node:buffer';
import { parseEnv } from 'node:util';
import { PLATFORM_SETTINGS } from './platform-settings.js';
import { brokenRules, type PlatformValues } from './rules.js';
import { readSettingFile } from './setting-file.js';
import { parseSetting, problemOf, type Setting, settingsIn, valuesIn, withMessage } from './setting.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Every setting of the service, validated. Times are in milliseconds. */
// A class cannot declare the fields of a mapped type. It can extend `Object` with a type that has these fields.
export class Config extends (Object as unknown as new () => PlatformValues) {
  /**
   * @param values of all declared settings, by name
   * @param given the names of the settings that the environment or `with` has set
   */
  constructor(
    private readonly declared: readonly Setting[],
    private readonly values: ReadonlyMap<string, unknown>,
    private readonly given: ReadonlySet<string>,
  ) {
    super();
    Object.assign(this, valuesIn(PLATFORM_SETTINGS, values));
    Object.freeze(this);
  }

  with<T>({ name }: Setting<T>, value: T): Config {
    return new Config(this.declared, new Map([...this.values, [name, value]]), new Set([...this.given, name]));
  }

  /** Tells whether the environment or `with` has set a setting. Otherwise it has its default value. */
  isSet({ name }: Setting): boolean {
    return this.given.has(name);
  }

  /** The settings that may change while the service runs. */
  get live(): readonly Setting[] {
    return this.declared.filter(({ live }) => live);
  }

  /** @throws {Error} for a name that is not one of the `live` settings */
  liveSetting(name: string): Setting {
    const found = this.live.find((each) => each.name === name);
    if (found !== undefined) return found;
    const names = this.live.map((each) => each.name);
    throw new Error(`${name} cannot be set while the service runs; these can: ${names.join(', ')}`);
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
    if (this.values.has(setting.name)) return this.values.get(setting.name);
    const advice = 'in src/features.ts: it was not read; a test that calls loadConfig passes SETTINGS from there';
    throw new Error(`List ${setting.name} ${advice}`);
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
 * @throws {ConfigError} naming every wrong variable
 * @throws {Error} for two settings of one name
 */
export function loadConfig(environment: Environment, ofFeatures: readonly Setting[] = []): Config {
  const settings = allSettings(ofFeatures);
  const isSet = (setting: Setting): boolean => variablesOf(setting).some((name) => environment[name]);
  const values = new Map<string, unknown>();
  const read = (setting: Setting): void => {
    const value = parseSetting(setting, () => textOf(setting, environment));
    values.set(setting.name, value);
  };
  const errors = settings.flatMap((setting) => problemOf(() => read(setting)) ?? []);
  errors.push(...misspelledNames(environment, settings));
  errors.push(...brokenRules(valuesIn(PLATFORM_SETTINGS, values), isSet));
  if (errors.length > 0) throw new ConfigError(errors);
  return new Config(settings, values, new Set(settings.filter(isSet).map(({ name }) => name)));
}

export function allSettings(ofFeatures: readonly Setting[]): readonly Setting[] {
  const settings = [...settingsIn(PLATFORM_SETTINGS), ...ofFeatures];
  const names = settings.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`${twice} is declared twice`);
  return settings;
}

/** Reads the environment of the process, and in development `.env`, whose variables have lower priority. */
export function loadConfigFromProcess(ofFeatures: readonly Setting[]): Config {
  if (process.env['NODE_ENV'] === 'production') return loadConfig(process.env, ofFeatures);
  let file: Environment = {};
  try {
    file = parseEnv(readText('.env'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new ConfigError([`.env cannot be read: ${message}`]);
  }
  return loadConfig({ ...file, ...process.env }, ofFeatures);
}

const variablesOf = ({ name, file }: Setting): string[] => (file ? [name, `${name}_FILE`] : [name]);

const LINE_END = /\r?\n$/;

function textOf({ name, file }: Setting, environment: Environment): string | undefined {
  // Compose and shells pass unset variables as empty. A secret of Kubernetes may end with a line end, as a file does.
  const text = environment[name]?.replace(LINE_END, '') || undefined;
  const path = file && environment[`${name}_FILE`];
  if (!path) return text;
  if (text !== undefined) throw new Error(`and ${name}_FILE are both set; set one of them`);
  const message = (reason: string): string => `cannot be read from the file that ${name}_FILE names: ${reason}`;
  return withMessage(message, () => readText(path).replace(LINE_END, ''));
}

/**
 * Reads a file without a byte-order mark, which editors on Windows write.
 * @throws {Error} for other bytes than UTF-8, which would become another secret; also for NUL, as UTF-16 has it
 */
function readText(path: string): string {
  const bytes = readSettingFile(path);
  if (!isUtf8(bytes) || bytes.includes(0)) throw new Error('it must be in UTF-8');
  return bytes.toString().replace(/^\uFEFF/, '');
}

/** A message for each unknown variable whose name resembles that of a setting. */
function* misspelledNames(environment: Environment, settings: readonly Setting[]): Generator<string> {
  const known = settings.flatMap(variablesOf);
  for (const name of Object.keys(environment).filter((each) => !known.includes(each))) {
    const meant = known.find((each) => isCutOff(name, each) || isSimilar(lettersOf(each), lettersOf(name)));
    if (meant !== undefined) yield `${name} is not a setting of this service; did you mean ${meant}?`;
  }
}

/** Tells whether a name ends within a word of a setting: `JWT_AUD`. */
const isCutOff = (name: string, setting: string): boolean =>
  name.length >= 6 && setting.startsWith(name) && setting[name.length] !== '_';

const lettersOf = (name: string): string => name.toUpperCase().replaceAll('_', '');

/** Tells whether two names of six letters or more differ by one letter, or by two neighbours, wrong or swapped. */
function isSimilar(one: string, other: string): boolean {
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  let begin = 0;
  while (begin < shorter.length && shorter[begin] === longer[begin]) begin++;
  let end = 0;
  while (end < shorter.length - begin && shorter.at(-1 - end) === longer.at(-1 - end)) end++;
  const most = shorter.length === longer.length ? 2 : 1;
  return shorter.length >= 6 && longer.length - begin - end <= most;
}
