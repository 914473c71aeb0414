import { readFileSync, writeFileSync } from 'node:fs';
import type { Message, Tokens } from './message.js';
import type { Script } from './script.js';

/** What it takes to see a violation again: what clients did, each on a connection of its own. */
export interface Reproduction {
  readonly violation: string;
  readonly seed: number;
  readonly scripts: readonly Script[];
}

/** Writes it as JSON, one character for each byte; tokens by name, since those of a run die with it. */
export function writeReproduction(file: string, { scripts, ...rest }: Reproduction, tokens: Tokens): void {
  const named = scripts.map((script) => withBytes(script, (bytes) => replaceAll(bytes, invert(names(tokens)))));
  writeFileSync(file, `${JSON.stringify({ ...rest, scripts: named }, null, 1)}\n`);
}

export function readReproduction(file: string, tokens: Tokens): Reproduction {
  const { scripts, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as Reproduction;
  return { ...rest, scripts: scripts.map((script) => withBytes(script, (bytes) => replaceAll(bytes, names(tokens)))) };
}

/** A script for people: each message escaped, on a line of its own. */
export function escaped({ messages, end }: Script, tokens: Tokens): string {
  return [...messages.map(({ bytes }) => escapedBytes(bytes, tokens)), `(then: ${end})`].join('\n  ');
}

/** Bytes for people, as a text in JSON; long runs of one byte are cut short. */
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
