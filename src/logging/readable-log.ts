import { createRequire } from 'node:module';
import type { LogBuffer } from './standard-output.js';

/** A log entry of pino, with the fields of a request line. */
interface Entry {
  readonly level: string;
  readonly time: string;
  readonly msg?: string;
  readonly context?: string;
  readonly err?: { readonly stack?: unknown } | null;
  readonly route?: string;
  readonly method: string;
  /** Absent for a request that was cut off before its response. */
  readonly status?: number;
  readonly milliseconds: number;
  readonly requestId: string;
  readonly subject?: string;
  readonly address?: string;
}

/** Characters that end a line, move the cursor, reorder other characters or are invisible. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The log for development: a line for each entry, with the indented stack of an error below, written immediately. */
export function readableLog(buffer: LogBuffer) {
  // Loaded only here: production does not need it, and `createLog` is synchronous.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty');
  const pretty = prettyFactory({ colorize: process.stdout.isTTY, translateTime: 'SYS:HH:MM:ss.l' });
  return {
    write(line: string): void {
      const entry = JSON.parse(line) as Entry;
      const message = entry.route === undefined ? describeEntry(entry) : describeRequest(entry);
      const shown = pretty({ level: entry.level, time: entry.time, msg: escape(message) });
      buffer.write(shown + indentedStack(entry.err));
      buffer.flush();
    },
  };
}

function describeRequest({ msg, method, route, status, milliseconds, subject, address, requestId }: Entry): string {
  const parts = [
    `${method} ${route} ${status ?? 'without a response'} in ${milliseconds} ms`,
    subject !== undefined && `for ${subject}`,
    address !== undefined && `from ${address}`,
    `(${requestId})`,
    msg !== 'request' && msg,
  ];
  return parts.filter(Boolean).join(' ');
}

function describeEntry({ level: _level, time: _time, msg, context, ...details }: Entry): string {
  const json = JSON.stringify(details, (key, value: unknown) => (key === 'stack' ? undefined : value));
  const parts = [context !== undefined && `[${context}]`, msg, json !== '{}' && json];
  return parts.filter(Boolean).join(' ');
}

/** The stack frames without the message, which may come from a client and is in the line above. */
function indentedStack(error: Entry['err']): string {
  if (typeof error?.stack !== 'string') return '';
  const frames = error.stack.split('\n').filter((line) => /^ +at |^caused by: /.test(line));
  return frames.map((frame) => `    ${escape(frame.trim())}\n`).join('');
}

function escape(line: string): string {
  return line.replace(UNPRINTABLE, (character) => {
    const escaped = JSON.stringify(character).slice(1, -1);
    if (escaped !== character) return escaped;
    return `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`;
  });
}
