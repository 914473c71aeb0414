import { createRequire } from 'node:module';
import { type DestinationStream, symbols } from 'pino';
import type { LogBuffer } from './log-buffer.js';

/** What pino wrote: of the fields that every entry may have, and of those of a request. */
interface Entry {
  readonly level: string;
  readonly time: string;
  readonly msg?: string;
  readonly context?: string;
  readonly err?: { readonly stack?: unknown } | null;
  readonly route?: string;
  readonly method: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly requestId: string;
  readonly subject?: string;
  readonly address?: string;
}

/** Everything that ends a line, moves the cursor, reorders characters or cannot be seen. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * Log for people: one line for each entry, whatever its fields hold, and below it the indented stack of an error. Each is
 * written immediately.
 */
export class ReadableLog implements DestinationStream {
  /** Makes pino set `lastLevel` before each `write`. */
  readonly [symbols.needsMetadataGsym] = true;
  lastLevel = 0;

  private readonly format = formatter();

  constructor(private readonly buffer: LogBuffer) {}

  /** @param level pino's number */
  write(line: string, level = this.lastLevel): void {
    this.buffer.write(this.format(line), level);
    this.buffer.flush();
  }
}

function formatter(): (line: string) => string {
  // Not imported, since production does without it, and createLog does not wait.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty');
  const pretty = prettyFactory({ colorize: process.stdout.isTTY, translateTime: 'SYS:HH:MM:ss.l' });
  return (line) => {
    const entry = JSON.parse(line) as Entry;
    const message = entry.route === undefined ? describeEntry(entry) : describeRequest(entry);
    const shown = pretty({ level: entry.level, time: entry.time, msg: escape(message) });
    return shown + indentedStack(entry.err);
  };
}

function describeRequest({ msg, method, route, status, milliseconds, subject, address, requestId }: Entry): string {
  const parts = [
    `${method} ${route} ${status} in ${milliseconds} ms`,
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

/** Only the frames: the message, which may come from a client, stands in the line above. */
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
