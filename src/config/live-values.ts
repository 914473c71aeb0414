import { problemOf, type Setting } from './setting.js';

/** Settings that may change while the service runs, by name. */
export type LiveSettings = ReadonlyMap<string, Setting>;

/**
 * Parses the value of a setting that may change while the service runs, by the rules of the start.
 * @throws {Error} for a wrong value, and for a name that is not one of these settings
 */
export function liveValue(live: LiveSettings, name: string, text: string): unknown {
  const setting = liveSetting(live, name);
  try {
    return setting.parse(text);
  } catch (error) {
    throw new Error(problemOf(setting, error), { cause: error });
  }
}

/** @throws {Error} for a name that is not one of these settings */
export function liveSetting(live: LiveSettings, name: string): Setting {
  const setting = live.get(name);
  if (setting !== undefined) return setting;
  throw new Error(`${name} cannot be set while the service runs; these can: ${[...live.keys()].join(', ')}`);
}
