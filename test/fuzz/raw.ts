import { createdIds, type EffectViolation, effectViolation, type Played } from './effects.js';
import { RawScripts } from './raw-scripts.js';
import { play, type Script } from './script.js';
import { endViolation, lastWords, type ServiceUnderTest, type StartedService } from './service-under-test.js';
import { examine } from './transcript.js';

/** Concurrent connections. */
const CONNECTIONS = 48;
/** Responses until the log and the database are compared. */
const EPOCH = 40_000;

/** A violation, and the scripts that may show it. */
export class RawViolation extends Error {
  constructor(
    message: string,
    readonly suspects: readonly Script[],
  ) {
    super(message);
  }
}

export type RawCounts = Record<'connections' | 'requests' | 'resets' | 'changes' | 'errors' | 'unavailable', number>;

export interface FuzzRun {
  readonly seed: number;
  /** Number of responses. */
  readonly requests: number;
  readonly progress?: (text: string) => void;
}

/**
 * Sends requests and mutations of them over many connections, until there are enough responses.
 * @throws {RawViolation}
 */
export async function fuzzRaw(services: ServiceUnderTest, run: FuzzRun): Promise<RawCounts> {
  const service = await services.start();
  const fuzz = new RawFuzz(service, run);
  while (fuzz.counts.requests < run.requests) {
    await fuzz.epoch(Math.min(run.requests, fuzz.counts.requests + EPOCH));
  }
  await fuzz.end();
  return fuzz.counts;
}

class RawFuzz {
  readonly counts: RawCounts = { connections: 0, requests: 0, resets: 0, changes: 0, errors: 0, unavailable: 0 };
  private readonly scripts: RawScripts;
  private readonly inFlight = new Set<Script>();
  private readonly began = performance.now();
  private serial = 0;
  private played: Played[] = [];

  constructor(
    private readonly service: StartedService,
    private readonly run: FuzzRun,
  ) {
    this.scripts = new RawScripts(run.seed, service.tokens);
  }

  /** Plays scripts until there are `requests` responses, then compares their effects. */
  async epoch(requests: number): Promise<void> {
    await Promise.all(Array.from({ length: CONNECTIONS }, () => this.playUntil(requests)));
    const { log, changes, process: child } = this.service;
    const rate = Math.round(this.counts.requests / ((performance.now() - this.began) / 1000));
    await log.settle();
    if (child.hasEnded) throw new RawViolation(lastWords(child), this.lastPlayed());
    const found = await changes.after(this.serial);
    const wrong: EffectViolation | undefined = effectViolation(this.played, found, log);
    if (wrong !== undefined) throw new RawViolation(wrong.violation, wrong.script ? [wrong.script] : []);
    this.counts.changes += found.length;
    this.serial = found.at(-1)?.serial ?? this.serial;
    this.played = [];
    log.forget();
    this.run.progress?.(`raw: ${this.counts.requests} of ${this.run.requests} requests, ${rate} a second`);
  }

  /** Expects that nothing is in flight, and that the service ends when it is told to. */
  async end(): Promise<void> {
    const violation = await endViolation(this.service.process);
    if (violation !== undefined) throw new RawViolation(violation, []);
  }

  private async playUntil(requests: number): Promise<void> {
    while (this.counts.requests < requests) await this.playNext();
  }

  private async playNext(): Promise<void> {
    const { url, process: child, rules } = this.service;
    const script = this.scripts.next();
    this.inFlight.add(script);
    const transcript = await play(script, url);
    if (child.hasEnded || transcript.refused) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      const what = child.hasEnded ? lastWords(child) : 'A connection was refused';
      throw new RawViolation(what, [...this.lastPlayed(), ...this.inFlight]);
    }
    this.inFlight.delete(script);
    const { responses, violation } = examine(script, transcript, rules);
    if (violation !== undefined) throw new RawViolation(violation, [script]);
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
}
