import { readFileSync } from 'node:fs';
import { isServiceLink } from './near-misses.js';
import type { Environment, Setting } from './setting.js';

/**
 * The value of a setting: from its variable, from the file of its `_FILE` variable, or its default.
 * @throws {Error} with the problem
 */
export function readSetting(setting: Setting, environment: Environment): unknown {
  const text = textOf(setting, environment) ?? setting.default;
  return text === undefined ? undefined : setting.parse(text);
}

/** Tells whether the operator has set the variable, correctly or not. */
export function isSet({ name, file = false }: Setting, environment: Environment): boolean {
  return variable(name, environment) !== undefined || (file && variable(`${name}_FILE`, environment) !== undefined);
}

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

/** Compose and shells pass an unset variable on as an empty one. */
function variable(name: string, environment: Environment): string | undefined {
  return isServiceLink(name, environment) ? undefined : environment[name] || undefined;
}
