import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { noSecondCore } from '../cores.js';
import { summary } from '../summary.js';
import { limitPostgres, variants } from '../variants.js';
import { FAMILY as BUDGET, budgetSection, budgetTable } from './budget.js';
import { barChart } from './bar-chart.js';
import { historySection } from './history.js';
import { DOCS } from './page.js';
import { table } from './table.js';
import { targetRows } from './targets.js';

/** The figures that a table of lanes may have, and how they are called; a chart is drawn of the first. */
const FIGURES = [
  { figure: 'rate', title: 'a second', chart: 'answers a second (more is better)', digits: 0 },
  { figure: 'cost', title: 'CPU us each', chart: 'server CPU, microseconds each (less is better)', digits: 1 },
  { figure: 'milliseconds', title: 'ms', chart: 'milliseconds (less is better)', digits: 0 },
  { figure: 'memory', title: 'private MB', chart: 'memory of its own, MB (less is better)', digits: 0 },
  { figure: 'memoryAdded', title: 'MB above idle', chart: 'highest memory, MB above idle (less is better)', digits: 0 },
  { figure: 'p99', title: 'p99 ms', digits: 1 },
  { figure: 'alone', title: 'p99 ms before', digits: 1 },
  { figure: 'slowest', title: 'slowest ms', digits: 1 },
  { figure: 'busy', title: 'server core %', digits: 0, bare: true },
  { figure: 'loadBusy', title: 'load core %', digits: 0, bare: true },
];

/** All tables, as they are printed. */
export function asText({ results, memories, machine }) {
  const sections = results.map((result) => {
    return `${headline(result)}\n\n${result.family === BUDGET ? budgetTable(result) : lanesTable([result])}`;
  });
  const targets = targetRows(results).filter(([, , , measured]) => measured !== '-');
  return [
    table(['machine', ''], machine),
    ...sections,
    ...(memories.length > 0 ? [`Memory\n\n${memoryTable(memories)}`] : []),
    ...(targets.length > 0 ? [`Asked and measured\n\n${targetsTable(targets)}`] : []),
  ].join('\n\n');
}

/** Writes docs/benchmarks.md and its charts. */
export function writeReport({ results, memories, machine, rounds, seconds, minutes }) {
  const charts = join(DOCS, 'benchmarks');
  rmSync(charts, { recursive: true, force: true });
  mkdirSync(charts, { recursive: true });
  const families = [...new Set(results.map(({ family }) => family))];
  const sections = families.map((family) => {
    const all = results.filter((result) => result.family === family);
    if (family === BUDGET) return budgetSection(all);
    const images = FIGURES.filter(({ chart }) => chart !== undefined).flatMap(({ figure, chart }) => {
      const groups = groupsOf(all, figure);
      if (groups.length === 0) return [];
      const file = `${family}-${figure}.svg`;
      const title = sentence(all[0].what.replaceAll('`', ''));
      writeFileSync(join(charts, file), barChart(title, chart, groups));
      return [`![${title}: ${chart}](benchmarks/${file})`];
    });
    return [`## ${family}`, `${sentence(all[0].what)}.`, images.join('\n\n'), lanesTable(all)].join('\n\n');
  });
  const page = [
    '# Benchmarks',
    'Written by `npm run bench`; change the programs in `bench/`, not this page. Ratios are what another machine can ' +
      'reproduce; the absolute figures belong to the machine below.',
    '## Asked and measured',
    targetsTable(targetRows(results)),
    'Why some are not met, and what was tried: [0119](adr/0119-what-stays-above-the-limit.md).',
    historySection(),
    '## How it is measured',
    method(rounds, seconds, minutes),
    table(['machine', ''], machine),
    table(
      ['program', 'what it is'],
      [...variants, limitPostgres].map(({ name, about }) => [name, about]),
    ),
    'What is left out, and why:',
    omissions(),
    ...sections,
    '## Memory',
    'MB resident: half a second after the program was ready; after all scenarios that use that storage; at its highest.',
    memoryTable(memories),
  ];
  writeFileSync(join(DOCS, 'benchmarks.md'), `${page.join('\n\n')}\n`);
}

function method(rounds, seconds, minutes) {
  return [
    `- ${rounds} rounds of about ${seconds} s, the programs in turn, each round beginning with another one, after a ` +
      'warm-up: 10 s over at least 16 connections at the first meeting, then 1 s, over one connection 6. Given are the median of the rounds and, in brackets, the lowest and the highest. The whole run ' +
      `took ${minutes.toFixed(0)} minutes.`,
    '- The load comes from autocannon in a process of its own, on a core of its own, each connection sending its next ' +
      'request when the last is answered. A round has a fixed number of requests, so that none is left half answered.',
    '- The load generator never waits in the kernel: to wake a client that sleeps is charged to the server that answers it, ' +
      'and a slower server has more clients asleep.',
    '- CPU is what the system charged the server process, user and kernel, per request. Where the server core is not ' +
      'busy all the time, the load generator or the disk holds the throughput down: then CPU is the figure to compare.',
    '- Every answer is checked for its status. Before the run, `service` and `limit` must give the same answers to a ' +
      'series of right and wrong requests.',
    '- Writes are durable (`synchronous=FULL`) except those of json-server. Records grow with POST; the capacity is ' +
      'never reached.',
  ].join('\n');
}

function omissions() {
  return [
    ...variants
      .filter(({ connections }) => connections !== undefined)
      .map(({ name }) => `- ${name}: one number of connections only, to keep the run short.`),
    ...variants.flatMap(({ name, skips = {} }) =>
      Object.entries(skips).map(([operation, reason]) => `- ${name}, ${operation}: ${reason}.`),
    ),
    '- list-1000000: only programs that answer alike; the others hold all records as objects at once.',
    '- 10 000 000 records: the service only, as it is compared with itself.',
    ...(noSecondCore === undefined ? [] : [`- two workers: ${noSecondCore}, and on one they are no faster than one.`]),
  ].join('\n');
}

function headline({ name, what, connections }) {
  return `${name}: ${what}${connections === undefined ? '' : `, ${connections} at once`}`;
}

function sentence(text) {
  return text[0].toUpperCase() + text.slice(1);
}

function lanesTable(results) {
  const lanes = results.flatMap(({ connections, lanes }) => lanes.map((lane) => ({ connections, ...lane })));
  const figures = FIGURES.filter(({ figure }) => lanes.some(({ samples }) => summary(samples, figure) !== undefined));
  const levels = results.length > 1;
  return table(
    ['', ...(levels ? ['at once'] : []), ...figures.map(({ title }) => title)],
    lanes.map(({ label, connections, samples }) => [
      label,
      ...(levels ? [String(connections)] : []),
      ...figures.map((figure) => cell(summary(samples, figure.figure), figure)),
    ]),
  );
}

function cell(values, { digits, bare }) {
  if (values === undefined) return '-';
  const [median, min, max] = [values.median, values.min, values.max].map((value) => value.toFixed(digits));
  return bare ? median : `${median} (${min}–${max})`;
}

function groupsOf(results, figure) {
  return results
    .map(({ connections, lanes }) => ({
      name: results.length > 1 ? `${connections} at once` : '',
      bars: lanes.flatMap(({ label, samples }) => {
        const values = summary(samples, figure);
        return values === undefined ? [] : [{ label, ...values }];
      }),
    }))
    .filter(({ bars }) => bars.length > 0);
}

function memoryTable(memories) {
  const megabytes = (value) => value?.toFixed(0) ?? '-';
  return table(
    ['', 'records', 'idle', 'after load', 'highest'],
    memories.map(({ label, records, idle, now, peak }) => [
      ...[label, String(records)],
      ...[idle, now, peak].map(megabytes),
    ]),
  );
}

function targetsTable(rows) {
  return table(['what', 'against', 'asked', 'measured', 'met'], rows);
}
