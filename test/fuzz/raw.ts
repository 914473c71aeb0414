import type { Change } from './change-log.js';
import { createdIds, effectViolation, type Played } from './effects.js';
import type { FuzzPart } from './fuzz.js';
import { escapedBytes } from './message.js';
import { RawScripts } from './raw-scripts.js';
import { play, type Script } from './script.js';
import { lastWords, type ServiceUnderTest } from './service-under-test.js';
import { examine } from './transcript.js';
import { Violation } from './violation.js';

/** Concurrent connections. */
const CONNECTIONS = 48;
/** Scripts in the report of a violation. */
const MOST_SUSPECTS = 3;

/** Sends requests and mutations of them over many connections. */
export class RawFuzz implements FuzzPart {
  readonly counts = { connections: 0, requests: 0, resets: 0, changes: 0, errors: 0, unavailable: 0 };
  private readonly scripts: RawScripts;
  private readonly inFlight = new Set<Script>();
  private played: Played[] = [];

  constructor(
    private readonly service: ServiceUnderTest,
    seed: number,
  ) {
    this.scripts = new RawScripts(seed, service.tokens);
  }

  async sendUntil(requests: number): Promise<void> {
    const playAll = async (): Promise<void> => {
      while (this.counts.requests < requests) await this.playNext();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, playAll));
  }

  compare(changes: readonly Change[]): void {
    const { process: child, log } = this.service;
    if (child.hasEnded) throw this.violation(lastWords(child), this.lastPlayed());
    const wrong = effectViolation(this.played, changes, log);
    if (wrong !== undefined) throw this.violation(wrong.violation, wrong.script ? [wrong.script] : []);
    this.counts.changes += changes.length;
    this.played = [];
  }

  close(): void {}

  private async playNext(): Promise<void> {
    const { url, process: child, rules } = this.service;
    const script = this.scripts.next();
    this.inFlight.add(script);
    const transcript = await play(script, url);
    if (child.hasEnded || transcript.refused) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      const what = child.hasEnded ? lastWords(child) : 'A connection was refused';
      throw this.violation(what, [...this.lastPlayed(), ...this.inFlight]);
    }
    this.inFlight.delete(script);
    const { responses, violation } = examine(script, transcript, rules);
    if (violation !== undefined) throw this.violation(violation, [script]);
    for (const id of createdIds(responses)) this.scripts.remember(id);
    this.played.push({ script, responses });
    this.counts.connections += 1;
    this.counts.requests += responses.length;
    if (script.end === 'reset') this.counts.resets += 1;
    this.counts.errors += responses.filter(({ status }) => status >= 400).length;
    this.counts.unavailable += responses.filter(({ status }) => status === 503).length;
  }

  private lastPlayed(): Script[] {
    return this.played.slice(-CONNECTIONS).map(({ script }) => script);
  }

  private violation(message: string, suspects: readonly Script[]): Violation {
    const evidence = suspects.slice(0, MOST_SUSPECTS).flatMap(({ messages, end }) => {
      const lines = messages.map(({ bytes }) => escapedBytes(bytes, this.service.tokens));
      return [...lines, `(then: ${end})`];
    });
    return new Violation(message, evidence);
  }
}
