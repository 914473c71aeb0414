import { escaped, svg } from './svg.js';

const [WIDTH, LEFT, RIGHT, BAR, GAP, TOP] = [760, 250, 110, 16, 12, 60];
const COLORS = ['#2f6db5', '#d98324', '#7a4fa3', '#4a8f4a', '#a33b3b', '#777777'];

/**
 * Horizontal bars as SVG, each with the spread of its samples as a line.
 * @param groups `{ name, bars: [{ label, median, min, max }] }`; bars of one label have one color
 */
export function barChart(title, subtitle, groups) {
  const bars = groups.flatMap((group) => group.bars);
  const labels = [...new Set(bars.map(({ label }) => label))];
  const scale = (WIDTH - LEFT - RIGHT) / Math.max(...bars.map(({ max }) => max));
  const parts = [];
  let y = TOP;
  for (const { name, bars } of groups) {
    for (const [index, { label, median, min, max }] of bars.entries()) {
      const middle = y + BAR / 2;
      const x = (value) => (LEFT + value * scale).toFixed(1);
      const text = [index === 0 ? name : '', label].filter((part) => part !== '').join(': ');
      parts.push(
        `<text x="${LEFT - 8}" y="${middle + 4}" text-anchor="end">${escaped(text)}</text>`,
        `<rect x="${LEFT}" y="${y}" width="${(median * scale).toFixed(1)}" height="${BAR}" fill="${colorOf(labels, label)}"/>`,
        `<path d="M${x(min)} ${middle}H${x(max)}M${x(min)} ${middle - 4}v8M${x(max)} ${middle - 4}v8" stroke="#222"/>`,
        `<text x="${Number(x(max)) + 8}" y="${middle + 4}">${number(median)}</text>`,
      );
      y += BAR + 3;
    }
    y += GAP;
  }
  return svg(title, subtitle, [WIDTH, y], parts);
}

function colorOf(labels, label) {
  return COLORS[labels.indexOf(label) % COLORS.length];
}

function number(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en').replaceAll(',', ' ') : value.toPrecision(2);
}
