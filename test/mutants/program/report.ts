import type { NamedMutant } from './mutant.js';
import type { Outcome, Result } from './results.js';

export interface Tried {
  readonly mutant: NamedMutant;
  readonly result: Result;
}

const OUTCOMES: readonly Outcome[] = ['killed', 'timed out', 'survived', 'invalid'];

/** One line for a tried mutant. */
export function lineOf({ mutant, result }: Tried): string {
  const { outcome, seconds, test } = result;
  return `${mutant.name}: ${outcome} in ${seconds.toFixed(1)} s${test === undefined ? '' : ` by "${test}"`}`;
}

/** A table by modules, and the problems below it. */
export function reportOf(tried: readonly Tried[]): string {
  const modules = [...new Set(tried.map(({ mutant }) => mutant.module))].sort();
  const rows = [...modules, 'all'].map((module) => {
    const ofModule = tried.filter(({ mutant }) => module === 'all' || mutant.module === module);
    const counts = OUTCOMES.map((outcome) => ofModule.filter(({ result }) => result.outcome === outcome).length);
    const seconds = ofModule.reduce((sum, { result }) => sum + result.seconds, 0);
    return [module, ofModule.length, ...counts, seconds.toFixed(0)].map(String);
  });
  const table = tableOf([['module', 'mutants', ...OUTCOMES, 'seconds'], ...rows]);
  return [table, ...problemsIn(tried)].join('\n');
}

/** Tells whether the result is a problem. A survivor with a reason in its description is none. */
export function isProblem({ mutant, result }: Tried): boolean {
  return result.outcome === 'invalid' || (result.outcome === 'survived' && mutant.survives === undefined);
}

function problemsIn(tried: readonly Tried[]): string[] {
  return tried
    .filter(({ result }) => result.outcome === 'invalid' || result.outcome === 'survived')
    .map(({ mutant, result }) => {
      const reason = result.outcome === 'invalid' ? result.message : (mutant.survives ?? 'no test noticed it');
      return `\n${mutant.name} (${result.outcome}) breaks: ${mutant.breaks}\n  ${reason?.split('\n').slice(0, 12).join('\n  ')}`;
    });
}

function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) => row.map((cell, column) => pad(cell, widths[column]!, column === 0)).join('  ')).join('\n');
}

function pad(cell: string, width: number, isText: boolean): string {
  return isText ? cell.padEnd(width) : cell.padStart(width);
}
