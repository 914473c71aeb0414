export type Environment = Readonly<Record<string, string | undefined>>;

/** Turns the string of one environment variable into its value, or throws an `Error` that says what is wrong with it. */
export type Parse<T> = (value: string) => T;

export interface Variable<T> {
  /** What the variable is for, one line; printed into `.env.example` and the README. */
  readonly about: string;
  /** A value that would be right, for error messages. */
  readonly example: string;
  /** The string assumed when the variable is unset or empty; none means that the value stays `undefined`. */
  readonly default?: string;
  /** Whether `<NAME>_FILE` may name a file that holds the value (container secrets). */
  readonly file?: boolean;
  readonly parse: Parse<T>;
}

/**
 * A variable that a feature declares in its own folder, in capitals and by its full name, so that a search for the name finds it.
 * `src/features.ts` lists them; the feature reads the value by `config.get(SETTING)`.
 */
export interface Setting<T = unknown> extends Variable<T> {
  readonly name: string;
}
