import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** `invalid`: the compiler rejects it, or its text or its specs are no longer as it says. */
export type Outcome = 'killed' | 'timed out' | 'survived' | 'invalid';

export interface Result {
  /** Of the mutant, or of a run of specs without any. */
  readonly name: string;
  /** Of everything the result rests on. */
  readonly key: string;
  readonly outcome: Outcome | 'passed' | 'failed';
  readonly seconds: number;
  /** The test that failed, and how. */
  readonly test?: string;
  readonly message?: string;
}

/** The results of this and of earlier runs, one line of JSON each, so that a run that was broken off goes on. */
export class Results {
  private readonly byKey = new Map<string, Result>();

  constructor(private readonly file: string) {
    mkdirSync(dirname(file), { recursive: true });
    if (!existsSync(file)) return;
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const result = parsed(line);
      if (result !== undefined) this.byKey.set(result.key, result);
    }
  }

  get(key: string): Result | undefined {
    return this.byKey.get(key);
  }

  add(result: Result): Result {
    this.byKey.set(result.key, result);
    appendFileSync(this.file, `${JSON.stringify(result)}\n`);
    return result;
  }
}

/** The last line of a run that was killed may be cut short. */
function parsed(line: string): Result | undefined {
  try {
    return JSON.parse(line) as Result;
  } catch {
    return undefined;
  }
}
