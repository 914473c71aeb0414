import type { Message, Tokens } from './message.js';
import { mutated } from './mutations.js';
import { Random } from './random.js';
import type { Script } from './script.js';
import { ValidMessages } from './valid-messages.js';

/** Maximum number of records that scripts use. */
const MOST_RECORDS = 400;
/** Maximum number of packets of a connection that are sent one by one. */
const MOST_PACKETS = 60;

/** Makes the scripts of a run. A seed repeats them, except for ids of records. */
export class RawScripts {
  private readonly records: number[] = [];
  private count = 0;

  constructor(
    private readonly seed: number,
    private readonly tokens: Tokens,
  ) {}

  /** Lets later scripts read, change and delete a record. */
  remember(id: number): void {
    this.records.push(id);
    if (this.records.length > MOST_RECORDS) this.records.shift();
  }

  next(): Script {
    this.count += 1;
    const random = new Random(this.seed, this.count);
    const valid = new ValidMessages(random, this.tokens, this.records);
    const end = random.weighted([
      [82, 'wait'],
      [8, 'half-close'],
      [10, 'reset'],
    ] as const);
    // Ids differ so much that no mutation turns one into another.
    const id = (name: number | string): string => `${word(random)}${word(random)}.${name}`;
    const share = random.pick([0, 0.03, 0.03, 0.1, 0.3, 1]);
    const length = random.pick([1, 2, 5, 20, 50, 50]);
    const messages: Message[] = [];
    for (let index = 0; index < length; index++) {
      const message = valid.make(id(index));
      const other = valid.make(id(`other${index}`)).bytes;
      const isMutated = random.chance(share) && (end !== 'reset' || message.method !== 'POST');
      messages.push(isMutated ? mutatedMessage(message, random, other) : message);
    }
    messages.push(...ending(end, valid, random, id));
    return { messages, packets: packets(random), end, resetAfter: random.below(6) };
  }
}

/** The last messages of a connection: the service or the client closes it after each of them. */
function ending(
  end: Script['end'],
  valid: ValidMessages,
  random: Random,
  id: (name: string) => string,
): readonly Message[] {
  const kind = random.weighted([
    [85, 'last'],
    [6, 'upgrade'],
    [9, 'unfinished'],
  ] as const);
  if (kind === 'upgrade') {
    const one = valid.upgrade(id('upgrade'));
    const alike = { ...one, id: id('alike'), bytes: one.bytes.replace(one.id, id('alike')) };
    return random.pick([[one], [one, alike], [one, alike, valid.make(id('behind'))]]);
  }
  if (kind === 'unfinished') return [valid.unfinished(id('unfinished'))];
  if (end === 'wait') return [valid.last(id('last'))];
  return end === 'half-close' && random.chance(0.5) ? [truncated(valid.make(id('cut')), random)] : [];
}

function mutatedMessage({ id, method, bytes }: Message, random: Random, other: string): Message {
  return { id, method, bytes: mutated(bytes, random, other) };
}

function truncated({ id, method, bytes }: Message, random: Random): Message {
  return { id, method, bytes: bytes.slice(0, random.between(1, bytes.length - 1)) };
}

const word = (random: Random): string => random.next().toString(36).padStart(7, '0');

/** Sizes of packets: one, some, or single bytes. */
function packets(random: Random): number[] {
  const longest = random.pick([0, 0, 0, 2000, 200, 20, 1]);
  if (longest === 0) return [];
  return Array.from({ length: random.between(1, MOST_PACKETS) }, () => random.between(1, longest));
}
