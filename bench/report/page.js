import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the report and its charts are. */
export const DOCS = join(import.meta.dirname, '../../docs');

/** Puts a section into docs/benchmarks.md, in place of the one with its heading; the others stay. */
export function replaceSection(section) {
  const file = join(DOCS, 'benchmarks.md');
  const heading = section.slice(0, section.indexOf('\n') + 1);
  const sections = readFileSync(file, 'utf8').split(/^(?=## )/m);
  const index = sections.findIndex((one) => one.startsWith(heading));
  if (index < 0) throw new Error(`docs/benchmarks.md has no "${heading.trim()}"; npm run bench writes it anew`);
  sections[index] = `${section}\n\n`;
  writeFileSync(file, `${sections.join('').trimEnd()}\n`);
}
