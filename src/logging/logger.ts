import type { LoggerService } from '@nestjs/common';
import { type Level, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { readableLog } from './readable-log.js';
import { standardOutput } from './standard-output.js';

/** The log of the service: JSON in production, readable lines otherwise. `mixin` gives further fields of each line. */
export function createLog(
  { environment, logLevel }: { readonly environment: string; readonly logLevel: string },
  mixin?: () => object,
): Logger {
  const buffer = standardOutput();
  const formatters = { level: (level: string) => ({ level }) };
  const serializers = { err: serializedError };
  const options = { level: logLevel, base: null, timestamp: stdTimeFunctions.isoTime, formatters, serializers, mixin };
  const logger = pino(options, environment === 'production' ? buffer : readableLog(buffer));
  buffer.onResume = (dropped, since) =>
    logger.warn({ dropped, since }, 'Log lines were dropped while the reader of the log did not take them');
  return logger;
}

/** An error for the log. An error of TypeORM loses the values of its statement, which may be personal or secret. */
function serializedError(error: Error): object {
  const serialized: Record<string, unknown> = { ...stdSerializers.err(error) };
  if (!('driverError' in error)) return serialized;
  const { type, message, stack, query, code } = serialized;
  return { type, message, stack, query, code };
}

/** Contexts in which Nest logs every module and route at start. */
const FRAMEWORK = new Set<unknown>([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** The first frame of a stack: `Logger.error(message, error.stack)` has no context. */
const STACK = /\n +at /;

/** Passes the messages of Nest's `Logger` to pino. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write(FRAMEWORK.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    // `serve.ts` prints the errors of the start.
    this.write(rest.at(-1) === 'ExceptionHandler' ? 'debug' : 'error', message, rest);
  }

  readonly warn = (message: unknown, ...rest: unknown[]): void => this.write('warn', message, rest);
  readonly debug = (message: unknown, ...rest: unknown[]): void => this.write('debug', message, rest);
  readonly verbose = (message: unknown, ...rest: unknown[]): void => this.write('trace', message, rest);
  readonly fatal = (message: unknown, ...rest: unknown[]): void => this.write('fatal', message, rest);

  /** By Nest's convention a text at the end, if it is no stack, is the context; others, such as an error, are details. */
  private write(level: Level, message: unknown, rest: unknown[]): void {
    const text = typeof message === 'string' ? message : undefined;
    const last = rest.at(-1);
    const context = typeof last === 'string' && !STACK.test(last) ? rest.pop() : undefined;
    const values = [message, ...rest].filter((value) => value !== undefined && value !== text);
    const err = values.find((value) => value instanceof Error);
    const details = values.filter((value) => value !== err && value !== err?.stack);
    this.logger[level]({ context, err, detail: details.length > 1 ? details : details[0] }, text);
  }
}
