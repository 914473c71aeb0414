import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { byHand, service, stockNest } from './programs.js';

const PAGE = join(import.meta.dirname, '../docs/benchmarks.md');
const FIGURES = {
  cost: 'CPU per request',
  rate: 'requests a second',
  seconds: 'seconds',
  memory: 'private memory, MB',
};

/** A table of the figures: median and spread of the rounds, target, and whether the target is reached. */
export function figuresTable(results) {
  const rows = results.flatMap(({ what, lanes, figures }) =>
    figures.map((figure) => [what, nameOf(figure), ...cellsOf(figure, valuesOf(figure, lanes))]),
  );
  return table(['measured', 'figure', 'median', 'lowest–highest', 'target', 'reached'], rows);
}

function nameOf({ figure, of, against }) {
  return against === undefined ? `${FIGURES[figure]}` : `${FIGURES[figure]}, ${of} / ${against}`;
}

/** One value for each round, in ascending order. A ratio compares two samples of one round. */
function valuesOf({ figure, of, against }, lanes) {
  const samples = (label) => lanes.find((lane) => lane.label === label).samples.map((sample) => sample[figure]);
  const others = against && samples(against);
  return samples(of)
    .map((value, round) => value / (others?.[round] ?? 1))
    .filter((value) => !Number.isNaN(value))
    .sort((one, other) => one - other);
}

function cellsOf({ atMost, atLeast }, values) {
  const target = atMost === undefined ? atLeast && `at least ${atLeast}` : `at most ${atMost}`;
  if (values.length === 0) return ['not measured', '', target ?? '', ''];
  const middle = (values.length - 1) / 2;
  const median = (values[Math.floor(middle)] + values[Math.ceil(middle)]) / 2;
  const isReached = atMost === undefined ? median >= atLeast : median <= atMost;
  const spread = `${short(values[0])}–${short(values.at(-1))}`;
  const reached = isReached ? 'yes' : '**no**';
  return [short(median), spread, target ?? '', target === undefined ? '' : reached];
}

function short(value) {
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** Writes docs/benchmarks.md. */
export function writePage({ results, machine, rounds, seconds, minutes }) {
  const page = [
    '# Benchmarks',
    'Written by `npm run bench`; change the programs in `bench/`, not this page. The ratios hold on other machines, too; seconds ' +
      'and megabytes belong to the machine below. Other work on the machine raises the ratios of CPU: the load averages below should be near 1.',
    figuresTable(results),
    '## How it is measured',
    [
      `- ${rounds} rounds of about ${seconds} s, the programs in turn, each round beginning with another one, after a warm-up. A ` +
        `ratio is of two samples of the same round. The whole run took ${minutes.toFixed(0)} minutes.`,
      '- autocannon sends the load from a separate process and core. Each connection sends its next request when the last one ' +
        'has its response. A round has a fixed number of requests. The load process never sleeps: the kernel charges the server ' +
        'for waking a client.',
      '- CPU is what the system charged the server process per request, user and kernel.',
      '- The status of every response is checked. Before the run, the program by hand must give the responses of the service: the ' +
        'same header fields and body where it succeeds, the same status where it fails.',
      '- Writes are durable: `synchronous=FULL`, and `fsync` on PostgreSQL. The PostgreSQL server shares its core with the load.',
    ].join('\n'),
    table(['machine', ''], [...machine, ['load average at the end', loadavg()[0].toFixed(1)]]),
    table(
      ['program', 'what it is'],
      [service, byHand, stockNest].map(({ name, about }) => [name, about]),
    ),
  ];
  writeFileSync(PAGE, `${page.join('\n\n')}\n`);
}

/** A Markdown table that can also be read in a terminal. */
export function table(header, rows) {
  const widths = header.map((title, column) => Math.max(3, title.length, ...rows.map((row) => row[column].length)));
  const line = (cells) => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
