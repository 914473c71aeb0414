import { readFileSync, writeFileSync } from 'node:fs';
import type { Message, Tokens } from './message.js';
import type { Script } from './script.js';

/** The scripts that show a violation, each for one connection. */
export interface Reproduction {
  readonly violation: string;
  readonly seed: number;
  readonly scripts: readonly Script[];
}

/** Writes it as JSON with bytes in latin1. Tokens are written by name, because those of a run become invalid. */
export function writeReproduction(file: string, { scripts, ...rest }: Reproduction, tokens: Tokens): void {
  const named = scripts.map((script) => withBytes(script, (bytes) => replaceAll(bytes, invert(names(tokens)))));
  writeFileSync(file, `${JSON.stringify({ ...rest, scripts: named }, null, 1)}\n`);
}

export function readReproduction(file: string, tokens: Tokens): Reproduction {
  const { scripts, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as Reproduction;
  return { ...rest, scripts: scripts.map((script) => withBytes(script, (bytes) => replaceAll(bytes, names(tokens)))) };
}

/** A readable script: each message escaped on one line. */
export function escaped({ messages, end }: Script, tokens: Tokens): string {
  return [...messages.map(({ bytes }) => escapedBytes(bytes, tokens)), `(then: ${end})`].join('\n  ');
}

/** Readable bytes, as JSON text. Long runs of one byte are cut. */
export function escapedBytes(bytes: string, tokens: Tokens): string {
  const named = replaceAll(bytes, invert(names(tokens)));
  const short = named.replaceAll(/(.)\1{99,}/gs, (run, byte: string) => `${byte}...(${run.length} times)...`);
  return JSON.stringify(short).slice(0, 3000);
}

function names({ both, read, write, forged }: Tokens): [name: string, token: string][] {
  return [
    ['{token}', both],
    ['{token:read}', read],
    ['{token:write}', write],
    ['{token:forged}', forged],
  ];
}

const invert = (pairs: [string, string][]): [string, string][] => pairs.map(([name, token]) => [token, name]);

function replaceAll(text: string, pairs: readonly [string, string][]): string {
  return pairs.reduce((result, [from, to]) => result.replaceAll(from, () => to), text);
}

function withBytes(script: Script, change: (bytes: string) => string): Script {
  const messages: Message[] = script.messages.map((message) => ({ ...message, bytes: change(message.bytes) }));
  return { ...script, messages };
}
