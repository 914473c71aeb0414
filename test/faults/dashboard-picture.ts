import { readFileSync } from 'node:fs';

const SECOND = 1000;
const [WIDTH, UNIT_HEIGHT, POINTS] = [960, 18, 150];
/** Colors of the series, in turn. */
const COLORS = ['#295fa6', '#c05a1c', '#2f8a4c', '#a3325c', '#6b58b0', '#8a7a1f'];

interface Panel {
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig: { readonly defaults: { readonly unit: string } };
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

type Line = Series & { readonly name: string };

/** Start and end in milliseconds. */
type Period = readonly [number, number];

/**
 * Draws the panels of Grafana's dashboard as its file lays them out, with the values of a Prometheus.
 * @returns SVG
 */
export async function drawDashboard(prometheus: string, period: Period): Promise<string> {
  const { panels } = JSON.parse(readFileSync('deploy/grafana/dashboards/cookies.json', 'utf8')) as { panels: Panel[] };
  const drawn: string[] = [];
  for (const panel of panels) drawn.push(drawPanel(panel, await linesOf(prometheus, panel, period), period));
  const height = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h)) * UNIT_HEIGHT;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#fff"/>
${drawn.join('\n')}
</svg>
`;
}

async function linesOf(prometheus: string, { targets }: Panel, [from, until]: Period): Promise<Line[]> {
  const lines: Line[] = [];
  for (const { expr, legendFormat } of targets) {
    const query = new URLSearchParams({
      query: expr.replaceAll('$__rate_interval', '4s').replaceAll('$resource', '.+'),
      start: String(from / SECOND),
      end: String(until / SECOND),
      step: String((until - from) / SECOND / POINTS),
    });
    const response = await fetch(`${prometheus}/api/v1/query_range?${query.toString()}`);
    const { data } = (await response.json()) as { data: { result: Series[] } };
    for (const series of data.result) {
      const name = legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => nameOf(label, series));
      lines.push({ ...series, name });
    }
  }
  return lines;
}

/** The value of a label. Replicas are named by their ports. */
const nameOf = (label: string, { metric }: Series): string => (metric[label] ?? '').replace('127.0.0.1', '');

function drawPanel({ title, gridPos, fieldConfig }: Panel, lines: readonly Line[], period: Period): string {
  const [x, y] = [(gridPos.x / 24) * WIDTH, gridPos.y * UNIT_HEIGHT];
  const [width, height] = [(gridPos.w / 24) * WIDTH - 70, gridPos.h * UNIT_HEIGHT - 48];
  const finite = lines.flatMap(({ values }) => values.map(([, value]) => Number(value))).filter(Number.isFinite);
  const top = Math.max(...finite, 0) || 1;
  const at = ([time, value]: readonly [number, string]): string =>
    `${(((time * SECOND - period[0]) / (period[1] - period[0])) * width).toFixed(0)},${(height * (1 - Number(value) / top)).toFixed(0)}`;
  const highest = finite.length === 0 ? 'no data' : inUnit(top, fieldConfig.defaults.unit);
  const paths = lines.map(({ values }, index) => {
    const points = values.filter(([, value]) => Number.isFinite(Number(value))).map(at);
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${COLORS[index % COLORS.length]}"/>`;
  });
  const legend = lines.map(
    ({ name }, index) => `<tspan fill="${COLORS[index % COLORS.length]}">${escaped(name)}  </tspan>`,
  );
  return `<g transform="translate(${x + 55},${y + 22})">
<text x="-45" y="-8" font-weight="600">${escaped(title)}</text>
<rect width="${width}" height="${height}" fill="none" stroke="#dde"/>
<text x="-4" y="9" text-anchor="end">${highest}</text><text x="-4" y="${height}" text-anchor="end">0</text>
${paths.join('\n')}
<text y="${height + 14}">${legend.slice(0, 5).join('')}</text>
</g>`;
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

function inUnit(value: number, unit: string): string {
  if (unit === 'percentunit') return `${Number((value * 100).toPrecision(2))} %`;
  if (unit === 'bytes') return `${Number((value / 2 ** 20).toPrecision(3))} MiB`;
  if (unit === 's')
    return value < 1 ? `${Number((value * 1000).toPrecision(3))} ms` : `${Number(value.toPrecision(3))} s`;
  return String(Number(value.toPrecision(3)));
}
