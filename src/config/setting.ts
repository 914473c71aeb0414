/** Parses the text of one environment variable. It throws an `Error` with the problem. */
export type Parse<T> = (text: string) => T;

/**
 * The declaration of one environment variable. The value in `Config`, the error messages, `.env.example` and the README
 * follow from it. A feature declares its settings in its folder and lists them in `src/features.ts`.
 */
export interface Setting<T = unknown> {
  /** The whole name of the variable, so that a search finds it. */
  readonly name: string;
  readonly parse: Parse<T>;
  /** Description in one line for `.env.example` and the README. */
  readonly about: string;
  /** Text to parse if the variable is unset or empty. Without a default the value is `undefined`. */
  readonly default?: string;
  /** A correct value for error messages; default: the default value. */
  readonly example?: string;
  /** Whether `<NAME>_FILE` may name a file that holds the value (container secrets). */
  readonly file?: boolean;
  /** Whether `cli set` may change it while the service runs; see `LiveConfig`. */
  readonly live?: boolean;
}

export function setting<T, const Options extends Omit<Setting, 'name' | 'parse'>>(
  name: string,
  parse: Parse<T>,
  options: Options,
): Setting<T> & Options {
  return { name, parse, ...options };
}

/** Runs a function with another message for its error: a text, or a function that gets the text of the error. */
export function withMessage<T>(message: string | ((reason: string) => string), run: () => T): T {
  try {
    return run();
  } catch (error) {
    const text = typeof message === 'string' ? message : message((error as Error).message);
    throw new Error(text, { cause: error });
  }
}

/** The message of the error that a function throws; `undefined` if it throws none. */
export function problemOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * The value of a setting, or of its default.
 * @param read gets its text
 * @throws {Error} in one line with the setting, the problem and an example
 */
export function parseSetting(setting: Setting, read: () => string | undefined): unknown {
  const { name, parse, default: value, example = value } = setting;
  const message = (reason: string): string => `${name} ${reason}. Example: ${name}=${example}`;
  return withMessage(message, () => {
    const text = read() ?? value;
    if (text === undefined) return undefined;
    return withMessage(
      (reason) => withHint(reason, text),
      () => parse(text),
    );
  });
}

/** Names white space and quotes around a wrong value, which `docker run --env-file` keeps and readers overlook. */
function withHint(reason: string, text: string): string {
  const isOverlooked = /^["'\s]|["'\s]$/.test(text) && !reason.includes('around it');
  return isOverlooked ? `${reason}; it has white space or quotes around it` : reason;
}

interface SettingsTree {
  readonly [key: string]: Setting | SettingsTree;
}

export type ValuesOf<Tree> = {
  readonly [Key in keyof Tree]: Tree[Key] extends Setting<infer Value>
    ? Tree[Key] extends { readonly default: string }
      ? Value
      : Value | undefined
    : ValuesOf<Tree[Key]>;
};

export function settingsIn(tree: SettingsTree): Setting[] {
  return Object.values(tree).flatMap((node) => (isSetting(node) ? [node] : settingsIn(node)));
}

/** @param values by name */
export function valuesIn<Tree extends SettingsTree>(tree: Tree, values: ReadonlyMap<string, unknown>): ValuesOf<Tree> {
  const entries = Object.entries(tree).map(([key, node]) => {
    return [key, isSetting(node) ? values.get(node.name) : valuesIn(node, values)];
  });
  return Object.fromEntries(entries) as ValuesOf<Tree>;
}

const isSetting = (node: Setting | SettingsTree): node is Setting => typeof node.parse === 'function';
