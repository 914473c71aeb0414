/**
 * The order in which the processes of one service write. SQLite's lock alone knows none: the process that has just committed takes
 * it again before another one, which polls, looks. See docs/adr/0112-workers-take-turns-to-write.md.
 */
export interface WriteTurns {
  /** Whether a transaction may begin now; where not, `resume` is called when it may, or when it was waited for long enough. */
  begin(resume: () => void): boolean;
  /** Another process may have its turn: no transaction is open, and none is to begin now. */
  idle(): void;
}

/** A process that writes alone, or beside others that know nothing of it. */
const ALWAYS: WriteTurns = { begin: () => true, idle: () => {} };

let turns = ALWAYS;

/** Sets what the writers of this process use that are made afterwards. */
export function useWriteTurns(shared: WriteTurns): void {
  turns = shared;
}

export function writeTurns(): WriteTurns {
  return turns;
}
