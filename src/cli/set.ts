import { hostname, userInfo } from 'node:os';
import { type Config, loadConfigFromProcess } from '../config/config.js';
import { CLI } from '../config/program-names.js';
import { parseSetting, problemOf } from '../config/setting.js';
import {
  describeStored,
  inForce,
  settingsInForce,
  storedSettings,
  type StoredSetting,
  storeSettings,
} from '../database/polling/live-config.js';
import { SETTINGS } from '../features.js';
import { UsageError } from './command-errors.js';
import { openConfiguredDatabase } from './resources/open-storage.js';

export interface SetOptions {
  readonly list?: boolean;
  readonly unset?: readonly string[];
}

export async function setSettings(assignments: readonly string[], { list = false, unset = [] }: SetOptions) {
  const isChange = assignments.length + unset.length > 0;
  if (list === isChange) throw new UsageError('give NAME=VALUE, --unset NAME, or --list');
  const assigned = unset.find((name) => name.includes('='));
  if (assigned !== undefined) throw new UsageError(`--unset takes names: put ${assigned} before it`);
  const config = loadConfigFromProcess(SETTINGS);
  const changes = assignments.map(parsed);
  checkAll(changes, ([name, value]) => parseSetting(config.liveSetting(name), () => value));
  const names = [...changes.map(([name]) => name), ...unset];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`${twice} is given twice: name each setting once`);
  await using dataSource = await openConfiguredDatabase(config);
  const stored = await storedSettings(dataSource);
  if (list) return print(config, stored);
  // A stored name may come from another version. It is unknown here, but can be unset.
  const isStored = (name: string): boolean => stored.some((row) => row.name === name);
  checkAll(
    unset.filter((name) => !isStored(name)),
    (name) => config.liveSetting(name),
  );
  const removed = unset.map((name) => [name, undefined] as const);
  const { url } = config.database;
  // The log names the user: on PostgreSQL that of the database, otherwise that of the machine.
  const operator = `${url.engine === 'postgres' ? url.user : userOfMachine()}@${hostname()}`;
  await storeSettings(dataSource, new Map<string, string | undefined>([...changes, ...removed]), operator);
  for (const [name, value] of changes) console.log(`${name}=${value} (to end it: ${CLI} set --unset ${name})`);
  for (const name of unset) console.log(`${name} is unset: the environment of the service is in force`);
  console.log('In force within 5 s, in all processes of the service on this database, and after a restart.');
}

function parsed(assignment: string): readonly [name: string, value: string] {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
  if (name === undefined || value === undefined) throw new UsageError(`"${assignment}" is not NAME=VALUE`);
  if (value === '') throw new UsageError(`${name} has no value: give one, or --unset ${name}`);
  return [name, value];
}

/** @throws {UsageError} with the messages of all values that fail the check */
function checkAll<T>(values: readonly T[], check: (value: T) => unknown): void {
  const problems = values.flatMap((value) => problemOf(() => check(value)) ?? []);
  if (problems.length > 0) throw new UsageError([...problems, 'Nothing was changed.'].join('\n'));
}

function userOfMachine(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under an id that has no name.
    return String(process.getuid?.());
  }
}

function print(config: Config, rows: readonly StoredSetting[]): void {
  const { config: current, stored, problems } = inForce(config, rows);
  for (const { name, value, stored: row } of settingsInForce(current, stored)) {
    if (row !== undefined) console.log(describeStored(row));
    else console.log(`${name}${value === '' ? ' has no value' : `=${value}`}, by the environment of this command`);
  }
  for (const problem of problems) console.error(`A row of live_settings is ignored: ${problem}`);
}
