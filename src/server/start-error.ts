import { ConfigError } from '../config/config.js';
import { DatabaseError } from '../database/errors.js';
import { fileProblem } from '../database/sqlite/file/file-problem.js';
import { RouteError } from '../http/validation/route-check.js';

/** Errors whose message is enough for an operator, without a stack. */
const EXPLAINED = [ConfigError, DatabaseError, RouteError];

/** The text to print for an error that stops the start: a message for the operator, or the error with its stack. */
export function explainStartError(error: unknown): unknown {
  const { syscall, path } = error as NodeJS.ErrnoException;
  if (EXPLAINED.some((type) => error instanceof type)) return (error as Error).message;
  if (syscall === 'listen' || syscall === 'bind') {
    return `The service cannot listen: ${(error as Error).message}. Choose another HOST, PORT, MANAGEMENT_HOST or MANAGEMENT_PORT.`;
  }
  return path === undefined ? error : `The service cannot start: ${fileProblem(path, error)}.`;
}
