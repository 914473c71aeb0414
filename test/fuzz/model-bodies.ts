import { accepts, FLAVORS, SIZES } from './contract.js';
import { utf8 } from './message.js';
import type { Random } from './random.js';

const WISHES = [
  '',
  'a\u0000b',
  '\ud800',
  'e\u0301',
  ...[255, 256].flatMap((length) => ['x'.repeat(length), '🍪'.repeat(length)]),
];
const VALUES: unknown[] = [null, 1, true, '', 'Vanilla', 'vanilla ', [], ['vanilla'], {}, { constructor: 1 }, '1'];
const STRAYS = ['id', 'wish', 'colour', '__proto__', 'constructor', 'toString', ''];
const NO_OBJECTS = [
  '',
  ' ',
  'null',
  '[]',
  '"text"',
  '1',
  '{',
  '{"flavor":}',
  '\ufeff{}',
  'NaN',
  "{'flavor':'vanilla'}",
];

export interface Body {
  /** Bytes in latin1. */
  readonly bytes: string;
  readonly isAccepted: boolean;
}

/** A body for a method: mostly valid, otherwise invalid in some way. */
export function anyBody(random: Random, method: string, wish: string): Body {
  const allowed = method === 'POST' ? ['flavor', 'size', 'wish'] : ['flavor', 'size'];
  const required = method === 'PATCH' ? [] : allowed;
  const good: Record<string, unknown> = { flavor: random.pick(FLAVORS), size: random.pick(SIZES) };
  if (method === 'POST') good['wish'] = wish;
  if (method === 'PATCH' && random.chance(0.5)) delete good[random.pick(allowed)];
  const bytes = random.chance(0.7) ? utf8(JSON.stringify(good)) : spoiled(random, good);
  return { bytes, isAccepted: accepts(Buffer.from(bytes, 'latin1'), allowed, required) };
}

function spoiled(random: Random, good: Record<string, unknown>): string {
  const name = random.pick(Object.keys(good).length > 0 ? Object.keys(good) : ['flavor']);
  const text = JSON.stringify(good);
  return random.weighted<() => string>([
    [3, () => utf8(random.pick(NO_OBJECTS))],
    [3, () => utf8(JSON.stringify({ ...good, [name]: random.pick(VALUES) }))],
    [2, () => utf8(JSON.stringify({ ...good, [random.pick(STRAYS)]: random.pick(VALUES) }))],
    [2, () => JSON.stringify({ ...good, [name]: undefined })],
    [2, () => utf8(JSON.stringify({ ...good, wish: random.pick(WISHES) }))],
    [1, () => `{"__proto__":{"flavor":"vanilla"},${text.slice(1)}`],
    [1, () => utf8(text).replace(/a/, '\xff')],
    [2, () => utf8(JSON.stringify({ ...good, [name]: anyText(random) }))],
    [2, () => utf8(`{"${random.pick(STRAYS)}":{"${random.pick(STRAYS)}":[${text}]},${text.slice(1)}`)],
    [3, () => damaged(random, utf8(JSON.stringify({ ...good, [name]: anyText(random) })))],
    [3, () => damaged(random, utf8(text))],
    [1, () => text.slice(0, random.below(text.length))],
  ])();
}

/** A text of any UTF-16 units, or about as long as a wish may be. */
function anyText(random: Random): string {
  const unit = (): string => String.fromCharCode(random.pick([random.below(0x80), random.below(0x10000), 0xd83c]));
  if (random.chance(0.3)) return random.pick([unit(), '🍪']).repeat(random.between(250, 260));
  return Array.from({ length: random.between(1, 20) }, unit).join('');
}

/** Most bytes that damage replaces or inserts. */
export const MOST_DAMAGE = 3;

/** Replaces or inserts some bytes. */
function damaged(random: Random, bytes: string): string {
  let result = bytes;
  for (let changes = random.between(1, MOST_DAMAGE); changes > 0; changes--) {
    const at = random.below(result.length);
    const rest = result.slice(random.chance(0.5) ? at : at + 1);
    result = result.slice(0, at) + String.fromCharCode(random.below(256)) + rest;
  }
  return result;
}
