import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PARTS } from '../budget/parts.js';
import { summary } from '../summary.js';
import { DOCS } from './page.js';
import { stackedChart } from './stacked-chart.js';
import { table } from './table.js';

export const FAMILY = 'budget';
const HEADING = `## ${FAMILY}`;

const METHOD =
  'Microseconds of server CPU a request that each part of the way takes: programs with one part less each, from the service to ' +
  'a bare socket, in turn in every round; a part is the difference of two lower quartiles, so a small one may come out below 0 on ' +
  'a machine that is not quiet. By hand is what `limit` does, with a log and metrics; what is below Fastify is the same program.';

/** One table for each scenario of the budget: a row for each part, the sum at the end. */
export function budgetTable({ lanes }) {
  const labels = labelsOf(lanes);
  const laneOf = (label, part) => lanes.find((lane) => lane.label === label && lane.part === part);
  const rows = PARTS.map(({ name, about }) => [
    name,
    ...labels.map((label) => laneOf(label, name)?.own.toFixed(1) ?? '-'),
    about,
  ]);
  const totals = labels.map((label) => {
    const { min, max } = summary(lanes.find((lane) => lane.label === label).samples, 'cost');
    const sum = lanes.filter((lane) => lane.label === label).reduce((all, { own }) => all + own, 0);
    return `${sum.toFixed(1)} (${min.toFixed(1)}–${max.toFixed(1)})`;
  });
  return table(['part', ...labels, 'what it is'], [...rows, ['all', ...totals, '']]);
}

/** The section of docs/benchmarks.md, whose pictures it writes. */
export function budgetSection(results) {
  mkdirSync(join(DOCS, 'benchmarks'), { recursive: true });
  const parts = results.map((result) => {
    const { name, what, connections, lanes } = result;
    const bars = labelsOf(lanes).map((label) => ({
      label,
      values: PARTS.map((part) => lanes.find((lane) => lane.label === label && lane.part === part.name)?.own ?? 0),
    }));
    const title = `${what}, ${connections} at once`;
    const subtitle = 'server CPU, microseconds each, by part (less is better)';
    const chart = stackedChart(
      title,
      subtitle,
      PARTS.map((part) => part.name),
      bars,
    );
    writeFileSync(join(DOCS, 'benchmarks', `${name}.svg`), chart);
    return `### ${title}\n\n![${title}: ${subtitle}](benchmarks/${name}.svg)\n\n${budgetTable(result)}`;
  });
  return [HEADING, METHOD, ...parts].join('\n\n');
}

function labelsOf(lanes) {
  return [...new Set(lanes.map(({ label }) => label))];
}
