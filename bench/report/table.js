/** A Markdown table that reads as well in a terminal: the first column to the left, figures to the right. */
export function table(header, rows) {
  const widths = header.map((title, column) => Math.max(3, title.length, ...rows.map((row) => row[column].length)));
  const isFigure = header.map((_, column) => column > 0 && rows.every((row) => /^[-–\d. ]*$/.test(row[column])));
  const line = (cells) =>
    `| ${cells.map((cell, i) => (isFigure[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join(' | ')} |`;
  const rule = widths.map((width, i) => (isFigure[i] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  return [line(header), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}
