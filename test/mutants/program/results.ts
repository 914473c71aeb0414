import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** `invalid`: the compiler rejects it, or its text or its specs do not exist any more. */
export type Outcome = 'killed' | 'timed out' | 'survived' | 'invalid';

export interface Result {
  /** Name of the mutant, or of a run of specs without one. */
  readonly name: string;
  /** Key of all files on which the result depends. */
  readonly key: string;
  readonly outcome: Outcome | 'passed' | 'failed';
  readonly seconds: number;
  /** The failed test and its message. */
  readonly test?: string;
  readonly message?: string;
}

/** The results of this and earlier runs, one line of JSON each, so that an interrupted run can continue. */
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

/** Parses a line. The last line of a killed run may be incomplete. */
function parsed(line: string): Result | undefined {
  try {
    return JSON.parse(line) as Result;
  } catch {
    return undefined;
  }
}
