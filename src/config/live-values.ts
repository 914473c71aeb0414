import { familyOf, nearMiss } from './near-misses.js';
import { PLATFORM_SETTINGS } from './platform-settings.js';
import { problemOf, type Setting, settingsIn } from './setting.js';

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

/**
 * @param ofFeatures settings of features, for the message about a setting that is read at the start only
 * @throws {Error} for a name that is not one of these settings
 */
export function liveSetting(live: LiveSettings, name: string, ofFeatures: readonly Setting[] = []): Setting {
  const setting = live.get(name);
  if (setting !== undefined) return setting;
  const names = new Set(live.keys());
  const choice = `These can be set while the service runs: ${[...names].join(', ')}`;
  if ([...settingsIn(PLATFORM_SETTINGS), ...ofFeatures].some((each) => each.name === name)) {
    throw new Error(`${name} is read at the start only: set it in the environment, and restart. ${choice}`);
  }
  const meant = nearMiss(name, names, new Set([...names].map(familyOf)));
  const advice = meant === undefined ? `. ${choice}` : `; did you mean ${meant}?`;
  throw new Error(`${name} is not a setting of this service${advice}`);
}
