import { CLI } from '../../config/program-names.js';

/** The examples at the end of a command's help. */
export function examples(...calls: string[]): string {
  return `\nExamples:\n${calls.map((call) => `  ${CLI} ${call}`).join('\n')}`;
}
