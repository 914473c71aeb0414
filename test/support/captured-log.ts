import { Logger } from '@nestjs/common';

export interface CapturedLine {
  readonly level: string;
  readonly message: string;
  readonly rest: unknown[];
}

/** Collects the lines that the service logs through Nest from now on. A later start sets its own logger. */
export function captureLog(): CapturedLine[] {
  const lines: CapturedLine[] = [];
  const at =
    (level: string) =>
    (message: unknown, ...rest: unknown[]) => {
      // A busy machine can slow down any statement.
      if (!String(message).startsWith('A statement took ')) lines.push({ level, message: String(message), rest });
    };
  Logger.overrideLogger({ log: at('log'), warn: at('warn'), error: at('error'), fatal: at('fatal') });
  return lines;
}

export const problemsIn = (lines: readonly CapturedLine[]): CapturedLine[] =>
  lines.filter(({ level }) => level !== 'log');
