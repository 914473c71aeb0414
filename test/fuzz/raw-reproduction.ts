import { effectViolation } from './effects.js';
import type { RawViolation } from './raw.js';
import { play, type Script } from './script.js';
import { lastWords, type ServiceUnderTest, type StartedService } from './service-under-test.js';
import { shrink } from './shrink.js';
import { examine } from './transcript.js';

/** Maximum number of trials for a short script. Trials that wait for the log take seconds. */
const TRIALS = 150;
const SLOW_TRIALS = 12;

export interface Found {
  readonly violation: string;
  readonly scripts: readonly Script[];
}

/** Finds a single script that shows a violation, and shortens it. If no script does, the result has all suspects. */
export async function reproduce(services: ServiceUnderTest, { message, suspects }: RawViolation): Promise<Found> {
  const player = new Player(services);
  for (const withEffects of [false, true]) {
    for (const suspect of suspects.toReversed().slice(0, withEffects ? 3 : 100)) {
      const trial = (script: Script): Promise<string | undefined> => player.violationOf(script, withEffects);
      const found = await shrink(suspect, trial, withEffects ? SLOW_TRIALS : TRIALS);
      if (found !== undefined) return { violation: found.violation, scripts: [found.script] };
    }
  }
  return { violation: message, scripts: suspects };
}

/** Plays scripts one by one, on a service that is started again after its end. */
export class Player {
  private service?: StartedService;

  constructor(private readonly services: ServiceUnderTest) {}

  /** @param withEffects whether to compare the log and the database, too, which takes some seconds */
  async violationOf(script: Script, withEffects: boolean): Promise<string | undefined> {
    const service = await this.running();
    const { log, changes, process: child, rules, url } = service;
    const before = (await changes.after(0)).at(-1)?.serial ?? 0;
    // The log of the previous trial must be complete.
    if (withEffects) await log.settle();
    log.forget();
    const transcript = await play(script, url);
    if (script.end === 'reset' || transcript.refused) await new Promise((resolve) => setTimeout(resolve, 50));
    if (child.hasEnded) return lastWords(child);
    const { responses, violation } = examine(script, transcript, rules);
    if (violation !== undefined || !withEffects) return violation;
    await log.settle();
    return effectViolation([{ script, responses }], await changes.after(before), log)?.violation;
  }

  private async running(): Promise<StartedService> {
    if (this.service?.process.hasEnded) {
      await this.services.remove(this.service);
      this.service = undefined;
    }
    this.service ??= await this.services.start();
    return this.service;
  }
}
