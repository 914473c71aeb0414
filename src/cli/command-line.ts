import { inspect } from 'node:util';
import { CommanderError, type Command } from 'commander';
import { ConfigError } from '../config/config.js';
import { DatabaseError } from '../database/errors.js';
import { closeTerminalAtExit } from '../logging/closed-terminal.js';
import { StorageFullError } from '../resource/usage/usage-counter.js';
import { Failure, UsageError } from './command-errors.js';
import { program } from './program.js';

/** Exit codes of interrupted commands, as shells have them: 128 and the number of the signal. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** The reason of an abort by one of `SIGNALS`. The command ends at its next safe point and prints its state. */
class Interrupted extends Error {
  constructor(readonly exitCode: number) {
    super('Interrupted.');
  }
}

/** Errors that are printed without a stack. */
const EXPLAINED = [Failure, Interrupted, ConfigError, DatabaseError, StorageFullError] as const;

/**
 * Makes an AbortSignal that the first of `SIGNALS` aborts; the second one ends the process. The first one ends it, too,
 * if the command has not asked for the AbortSignal: it waits for a database, or runs one transaction.
 */
function interruptSignal(): () => AbortSignal {
  const controller = new AbortController();
  let hasSafePoints = false;
  for (const [signal, exitCode] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      // When a terminal closes, the kernel and the shell may both send SIGHUP.
      if (signal === 'SIGHUP' && controller.signal.aborted) return;
      if (signal === 'SIGHUP') closeTerminalAtExit();
      const reason = new Interrupted(exitCode);
      if (!hasSafePoints || controller.signal.aborted) process.exit(report(reason, cli));
      controller.abort(reason);
    });
  }
  return () => {
    hasSafePoints = true;
    return controller.signal;
  };
}

/** Prints an error, and returns the exit code: 1 failed, 2 wrong usage, those of `SIGNALS` interrupted. */
function report(error: unknown, cli: Command): number {
  if (error instanceof CommanderError) {
    // commander has printed the help or the error already.
    return error.exitCode === 0 ? 0 : 2;
  }
  if (error instanceof UsageError) {
    console.error(`${error.message}\nSee: ${cli.name()} <command> --help`);
    return 2;
  }
  const { message, cause } = error as Error;
  console.error(printable(EXPLAINED.some((type) => error instanceof type) ? message : inspect(error)));
  const interrupted = [error, cause].find((each) => each instanceof Interrupted);
  return interrupted?.exitCode ?? 1;
}

/** Escapes control characters but line feeds: a message may quote names of a foreign file, and a terminal obeys them. */
function printable(message: string): string {
  return message.replaceAll(/(?!\n)\p{Cc}/gu, (character) => inspect(character).slice(1, -1));
}

const cli = program(interruptSignal());
let outputError: Error | undefined;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `head` closes the pipe when it has read enough.
  if (error.code !== 'EPIPE') outputError = error;
});
// Reports the error at the end, after the command has removed its drafts.
process.on('exit', (code) => {
  if (outputError === undefined || code !== 0) return;
  process.exitCode = report(new Failure(`The output cannot be written: ${outputError.message}.`, outputError), cli);
});
// A command continues if its messages cannot be written.
process.stderr.on('error', () => {});
try {
  await cli.parseAsync();
} catch (error) {
  // An open input would keep the process alive.
  process.exit(report(error, cli));
}
