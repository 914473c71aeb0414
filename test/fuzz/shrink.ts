import type { Message } from './message.js';
import type { Script } from './script.js';

/** Plays a script again and returns its violation; `undefined` if there is none. */
export type Trial = (script: Script) => Promise<string | undefined>;

/**
 * Removes the parts of a script that are not needed for its violation: packets, messages, header fields.
 * @param trials maximum number of trials
 * @returns the shortest script and its violation; `undefined` if none shows it
 */
export async function shrink(
  script: Script,
  trial: Trial,
  trials: number,
): Promise<{ script: Script; violation: string } | undefined> {
  const first = (await trial(script)) ?? (await trial(script));
  if (first === undefined) return undefined;
  let best = { script, violation: first };
  let left = trials;
  for (let changed = true; changed && left > 0;) {
    changed = false;
    for (const candidate of shorter(best.script)) {
      if (left <= 0) break;
      left -= 1;
      const violation = await trial(candidate);
      if (violation === undefined || kindOf(violation) !== kindOf(first)) continue;
      best = { script: candidate, violation };
      changed = true;
      break;
    }
  }
  return best;
}

/** The kind of a violation, without the message that shows it. */
export function kindOf(violation: string): string {
  return violation.replaceAll(/\b[0-9a-z]+\.(\d+|last|cut)\b|\d{4,}/g, '#');
}

/** Scripts without some parts, the largest parts first. */
function* shorter(script: Script): Generator<Script> {
  const { messages } = script;
  if (script.packets.length > 0) yield { ...script, packets: [] };
  for (let size = Math.ceil(messages.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < messages.length && messages.length > 1; at += size) {
      yield { ...script, messages: messages.toSpliced(at, size) };
    }
  }
  if (messages.length > 3) return;
  for (const [index, message] of messages.entries()) {
    // Without a field, another response to a valid message might be right.
    if (message.expected !== undefined) continue;
    for (const bytes of shorterBytes(message)) {
      yield { ...script, messages: messages.with(index, { ...message, bytes }) };
    }
  }
}

/** The message without one of its header fields. The id stays, because it identifies the response. */
function* shorterBytes({ bytes }: Message): Generator<string> {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return;
  const lines = bytes.slice(0, headEnd).split('\r\n');
  for (let line = 1; line < Math.min(lines.length, 20); line++) {
    if (!lines[line]!.startsWith('X-Request-Id')) {
      yield lines.toSpliced(line, 1).join('\r\n') + bytes.slice(headEnd);
    }
  }
}
