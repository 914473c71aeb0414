import { CommanderError, type Command } from 'commander';
import { ConfigError } from '../config/config.js';
import {
  DatabaseStartError,
  DatabaseUnavailableError,
  DiskFullError,
  OutcomeUnknownError,
} from '../database/errors.js';
import { StorageFullError } from '../resource/record-errors.js';
import { Failure, UsageError } from './command-errors.js';
import { Interrupted, interruptSignal } from './interrupt.js';
import { program } from './program.js';

/** Errors that are printed without a stack. */
const EXPLAINED = [
  Failure,
  Interrupted,
  ConfigError,
  DatabaseStartError,
  DatabaseUnavailableError,
  DiskFullError,
  OutcomeUnknownError,
  StorageFullError,
] as const;

/** The exit code of an error: 1 failed, 2 wrong usage, 130 and 143 interrupted. */
function report(error: unknown, cli: Command): number {
  if (error instanceof CommanderError) {
    // commander has printed the help or the error already.
    return error.exitCode === 0 ? 0 : 2;
  }
  if (error instanceof UsageError) {
    console.error(`${error.message}\nSee: ${cli.name()} <command> --help`);
    return 2;
  }
  console.error(EXPLAINED.some((type) => error instanceof type) ? (error as Error).message : error);
  const [{ exitCode } = { exitCode: 1 }] = [error, (error as Error).cause].filter((one) => one instanceof Interrupted);
  return exitCode;
}

const cli = program(interruptSignal());
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `head` closes the pipe when it has read enough.
  if (error.code !== 'EPIPE') process.exit(report(new Failure(`The output cannot be written: ${error.message}.`), cli));
});
// Without its messages a command goes on.
process.stderr.on('error', () => {});
try {
  await cli.parseAsync();
} catch (error) {
  // An open input would keep the process alive.
  process.exit(report(error, cli));
}
