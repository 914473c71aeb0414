/** How the examples call the program. */
export const CALL = 'npm run --silent cli --';

/** The examples at the end of a command's help. */
export function examples(...calls: string[]): string {
  return `\nExamples:\n${calls.map((call) => `  ${CALL} ${call}`).join('\n')}`;
}
