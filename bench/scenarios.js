import { budget } from './budget/budget.js';
import { commands } from './commands.js';
import { noSecondCore } from './cores.js';
import { longList } from './long-list.js';
import { operations } from './operations.js';
import { onPostgres } from './postgres.js';
import { saveCalls } from './save-calls.js';
import { starts } from './starts.js';
import { twoWorkers, variants } from './variants.js';

/** How many connections send requests at once, each the next when the last is answered. */
const CONNECTIONS = [1, 16, 64];

/** One variant in a comparison: what it does, on how many records. */
const lane = (variant, operation, records, label = variant.name) => ({ variant, operation, records, label });
const [service] = variants;

/**
 * One operation, all variants, at each number of connections.
 * @param slowAt the connections of variants that are measured at one number only
 */
function across(family, operation, records, slowAt = 64) {
  return CONNECTIONS.map((connections) => ({
    name: `${family}-${connections}`,
    family,
    what: `${operations[operation].what}, ${records} records stored`,
    connections,
    lanes: variants
      .filter(({ connections: only, skips }) => !skips?.[operation] && (!only || connections === slowAt))
      .map((variant) => lane(variant, operation, records)),
  }));
}

/**
 * What is measured, in this order. A scenario either has lanes, compared under load (compare.js), or a program of its
 * own, `run`, which returns figures in the same shape or a table.
 */
export const scenarios = [
  {
    name: 'start',
    family: 'start',
    what: 'from the start of the process to its first answer, built, files cached; memory half a second later',
    run: starts,
  },
  {
    name: 'commands',
    family: 'commands',
    what: 'commands that need no database, from the start of the process to its end',
    run: commands,
  },
  ...['get', 'post'].map((operation) => ({
    name: `budget-${operation}`,
    family: 'budget',
    what: operations[operation].what,
    connections: 16,
    run: budget(operation, 16),
  })),
  ...across('get', 'get', 1000),
  ...across('post', 'post', 1000),
  ...across('put', 'put', 1000),
  ...across('delete', 'delete', 1000),
  ...across('mixed', 'mixed', 1000),
  ...across('list-100', 'list', 100),
  // With 64 lists of 10 000 at once, the slow ones would not answer in the time of a measurement.
  ...across('list-10000', 'list', 10_000, 1),
  ...[100, 10_000].map((records) => ({
    name: `list-${records}-changing`,
    family: `list-${records}-changing`,
    what: `${operations.changing.what}, ${records} records stored; figures are for either request`,
    connections: 1,
    lanes: variants
      .filter(({ answersAlike, name }) => answersAlike || name === service.name)
      .map((variant) => lane(variant, 'changing', records)),
  })),
  ...CONNECTIONS.map((connections) => ({
    name: `unchanged-${connections}`,
    family: 'unchanged',
    what: operations.unchanged.what,
    connections,
    lanes: [
      lane(service, 'get', 10_000, 'service, GET of one record'),
      ...[100, 10_000, 1_000_000].map((records) => lane(service, 'unchanged', records, `service, list of ${records}`)),
      ...variants
        .filter(({ skips, connections: only }) => !skips?.unchanged && (!only || connections === 1))
        .filter((variant) => variant !== service)
        .map((variant) => lane(variant, 'unchanged', 10_000, `${variant.name}, list of 10000`)),
    ],
  })),
  {
    name: 'list-1000000',
    family: 'list-1000000',
    what: 'GET of all of 1000000 records, once, in a fresh process',
    run: longList,
  },
  ...['get', 'post'].map((operation) => ({
    name: `${operation}-10m`,
    family: `${operation}-10m`,
    what: operations[operation].what,
    connections: 64,
    lanes: [1000, 10_000_000].map((records) => lane(service, operation, records, `service, ${records} records`)),
  })),
  ...(noSecondCore === undefined ? ['get', 'post', 'mixed'] : []).map((operation) => ({
    name: `workers-${operation}`,
    family: 'workers',
    what: operations[operation].what,
    connections: 64,
    lanes: [service, twoWorkers].map((variant) => lane(variant, operation, 1000)),
  })),
  ...[
    ['get', 16],
    ['get', 64],
    ['post', 16],
    ['post', 64],
  ].map(([operation, connections]) => ({
    name: `${operation}-postgres-${connections}`,
    family: `${operation}-postgres`,
    what: `${operations[operation].what}, on a PostgreSQL server that shares a core with the load, 1000 records stored`,
    connections,
    run: onPostgres(operation, connections),
  })),
  { name: 'save', family: 'save', what: '`repository.save()` of a plain entity, no HTTP', run: saveCalls },
];
