import { ConfigError } from '../config/config.js';
import { fileProblem } from '../database/sqlite/file/file-problem.js';
import { DatabaseStartError } from '../database/errors.js';
import { RouteError } from '../http/validation/route-check.js';

/** Errors that are printed without a stack. */
const EXPLAINED = [ConfigError, DatabaseStartError, RouteError];

/** The text of a start error for the operator, or the error itself when it is unexpected. */
export function explainStartError(error: unknown): unknown {
  const { syscall, path } = error as NodeJS.ErrnoException;
  if (EXPLAINED.some((type) => error instanceof type)) return (error as Error).message;
  if (syscall === 'listen' || syscall === 'bind') {
    return `The service cannot listen: ${(error as Error).message}. Set PORT, MANAGEMENT_PORT or HOST otherwise.`;
  }
  return path === undefined ? error : `The service cannot start: ${fileProblem(path, error)}.`;
}
