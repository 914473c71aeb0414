import { summary } from '../summary.js';

/**
 * What is asked of the service: each a figure, the one it is compared with, and the limit. `measured` gets `of`, which
 * looks a median up, and gives `undefined` where that was not measured.
 */
const targets = [
  ...[
    [1, 1.3],
    [16, 1.4],
    [64, 1.4],
  ].map(([connections, atMost]) => ({
    what: `GET of one record, server CPU a request, ${connections} at once`,
    against: 'limit',
    atMost,
    measured: (of) => ratio(of(`get-${connections}`, 'service', 'cost'), of(`get-${connections}`, 'limit', 'cost')),
  })),
  ...[
    ['durable POST', 'post-64', 'limit', 0.8],
    ['durable POST', 'post-64', 'nest-typeorm', 8],
    ['durable PUT that changes its record', 'put-64', 'limit', 0.7],
    ['durable DELETE', 'delete-64', 'limit', 0.7],
  ].map(([operation, scenario, against, atLeast]) => ({
    what: `${operation}, requests a second, 64 at once`,
    against,
    atLeast,
    measured: (of) => ratio(of(scenario, 'service', 'rate'), of(scenario, against, 'rate')),
  })),
  ...[1, 16, 64].map((connections) => ({
    what: `list of 100, server CPU a request, ${connections} at once`,
    against: 'limit',
    atMost: 0.4,
    measured: (of) =>
      ratio(of(`list-100-${connections}`, 'service', 'cost'), of(`list-100-${connections}`, 'limit', 'cost')),
  })),
  ...[
    [100, 0.8],
    [10_000, 0.6],
  ].map(([records, atMost]) => ({
    what: `list of ${records} with a PUT before each, server CPU a request, 1 at once`,
    against: 'limit',
    atMost,
    measured: (of) =>
      ratio(of(`list-${records}-changing`, 'service', 'cost'), of(`list-${records}-changing`, 'limit', 'cost')),
  })),
  ...[
    [64, 6],
    [1, 1],
  ].map(([callers, atLeast]) => ({
    what: `\`repository.save()\`, calls a second, ${callers} callers`,
    against: "TypeORM's own driver",
    atLeast,
    measured: (of) =>
      ratio(of('save', `service, ${callers} callers`, 'rate'), of('save', `TypeORM stock, ${callers} callers`, 'rate')),
  })),
  ...[1, 16, 64].map((connections) => ({
    what: `list of 10 000, server CPU a request, ${connections} at once`,
    against: 'limit',
    atMost: 0.6,
    measured: (of) =>
      ratio(of(`list-10000-${connections}`, 'service', 'cost'), of(`list-10000-${connections}`, 'limit', 'cost')),
  })),
  ...[100, 10_000, 1_000_000].map((records) => ({
    what: `304 to a list of ${records}, server CPU a request, 64 at once`,
    against: 'GET of one record',
    atMost: 1,
    measured: (of) =>
      ratio(
        of('unchanged-64', `service, list of ${records}`, 'cost'),
        of('unchanged-64', 'service, GET of one record', 'cost'),
      ),
  })),
  {
    what: 'list of 1 000 000, highest memory in MB',
    against: 'above idle',
    atMost: 64,
    measured: (of) => of('list-1000000', 'service', 'memoryAdded'),
  },
  {
    what: 'list of 1 000 000, p99 in ms of a small GET every 5 ms meanwhile',
    against: '',
    atMost: 20,
    measured: (of) => of('list-1000000', 'service', 'p99'),
  },
  {
    what: 'list of 1 000 000, time',
    against: '`sqlite3 -json` printing the same rows',
    atMost: 1.5,
    measured: (of) =>
      ratio(of('list-1000000', 'service', 'milliseconds'), of('list-1000000', 'sqlite3 -json', 'milliseconds')),
  },
  ...['get', 'post'].flatMap((operation) => [
    {
      what: `${operation.toUpperCase()} with 10 000 000 records stored, server CPU a request, 64 at once`,
      against: '1000 records',
      atMost: 1.2,
      measured: (of) =>
        ratio(...[10_000_000, 1000].map((n) => of(`${operation}-10m`, `service, ${n} records`, 'cost'))),
    },
    {
      what: `${operation.toUpperCase()} with 10 000 000 records stored, time a request, 64 at once`,
      against: '1000 records',
      atMost: 1.2,
      measured: (of) =>
        ratio(...[1000, 10_000_000].map((n) => of(`${operation}-10m`, `service, ${n} records`, 'rate'))),
    },
  ]),
  ...[16, 64].map((connections) => ({
    what: `on PostgreSQL: GET of one record, requests a second, ${connections} at once`,
    against: 'limit-postgres',
    atLeast: 0.75,
    measured: (of) =>
      ratio(
        of(`get-postgres-${connections}`, 'service', 'rate'),
        of(`get-postgres-${connections}`, 'limit-postgres', 'rate'),
      ),
  })),
  {
    what: 'on PostgreSQL: durable POST, requests a second, 64 at once',
    against: 'limit-postgres',
    atLeast: 3,
    measured: (of) =>
      ratio(of('post-postgres-64', 'service', 'rate'), of('post-postgres-64', 'limit-postgres', 'rate')),
  },
  {
    what: 'start to ready, in ms, built, files cached',
    against: '',
    atMost: 800,
    measured: (of) => of('start', 'service', 'milliseconds'),
  },
  {
    what: 'memory of its own after the start, in MB',
    against: '',
    atMost: 75,
    measured: (of) => of('start', 'service', 'memory'),
  },
  ...['--help', 'token'].map((command) => ({
    what: `\`cli ${command}\`, in ms`,
    against: '',
    atMost: 250,
    measured: (of) => of('commands', `cli ${command}`, 'milliseconds'),
  })),
  ...['get', 'mixed'].map((operation) => ({
    what: `two workers, ${operation}, requests a second, 64 at once`,
    against: 'one',
    atLeast: 1.7,
    measured: (of) =>
      ratio(of(`workers-${operation}`, 'service, two workers', 'rate'), of(`workers-${operation}`, 'service', 'rate')),
  })),
];

/** The targets as rows of a table; those that the results say nothing about are marked so. */
export function targetRows(results) {
  const of = (scenario, label, figure) => {
    const lane = results.find(({ name }) => name === scenario)?.lanes.find((one) => one.label === label);
    return lane && summary(lane.samples, figure)?.median;
  };
  return targets.map(({ what, against, atMost, atLeast, measured }) => {
    const value = measured(of);
    const asked = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`;
    const met = atMost === undefined ? value >= atLeast : value <= atMost;
    return [what, against, asked, value === undefined ? '-' : short(value), verdict(value, met)];
  });
}

function verdict(value, met) {
  if (value === undefined) return 'not measured';
  return met ? 'yes' : '**no**';
}

function ratio(one, other) {
  return one === undefined || other === undefined ? undefined : one / other;
}

function short(value) {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}
