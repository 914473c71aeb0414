import { escaped, svg } from './svg.js';

const [WIDTH, LEFT, RIGHT, BAR, GAP, TOP] = [760, 140, 60, 34, 14, 60];
const LEGEND = { column: 190, row: 18, columns: 4 };
const COLORS = [
  ...['#a33b3b', '#d98324', '#e0b83c', '#8a9a3b', '#4a8f4a', '#3f8f86', '#3f7fa6'],
  ...['#2f5fb5', '#5a4fa3', '#8a4fa3', '#b0508f', '#777777', '#bbbbbb'],
];

/**
 * Horizontal bars as SVG, each made of parts.
 * @param parts their names, in the order in which they stand
 * @param bars `{ label, values }`, a value for each part; what is less than 0, as differences of noisy figures may be, is left out
 */
export function stackedChart(title, subtitle, parts, bars) {
  const totals = bars.map(({ values }) => values.reduce((sum, value) => sum + Math.max(value, 0), 0));
  const scale = (WIDTH - LEFT - RIGHT) / Math.max(...totals);
  const shapes = bars.flatMap(({ label, values }, row) => {
    const y = TOP + row * (BAR + GAP);
    let x = LEFT;
    const pieces = values.map((value, index) => {
      const width = Math.max(value, 0) * scale;
      const piece = `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" fill="${COLORS[index]}"><title>${escaped(parts[index])}: ${value.toFixed(1)}</title></rect>`;
      x += width;
      return piece;
    });
    const middle = y + BAR / 2 + 4;
    return [
      `<text x="${LEFT - 8}" y="${middle}" text-anchor="end">${escaped(label)}</text>`,
      ...pieces,
      `<text x="${(x + 8).toFixed(1)}" y="${middle}">${totals[row].toFixed(0)}</text>`,
    ];
  });
  const below = TOP + bars.length * (BAR + GAP) + 10;
  const legend = parts.flatMap((part, index) => {
    const x = 12 + (index % LEGEND.columns) * LEGEND.column;
    const y = below + Math.floor(index / LEGEND.columns) * LEGEND.row;
    return [
      `<rect x="${x}" y="${y}" width="12" height="12" fill="${COLORS[index]}"/>`,
      `<text x="${x + 18}" y="${y + 11}">${escaped(part)}</text>`,
    ];
  });
  const height = below + Math.ceil(parts.length / LEGEND.columns) * LEGEND.row + 8;
  return svg(title, subtitle, [WIDTH, height], [...shapes, ...legend]);
}
