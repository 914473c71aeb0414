import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';
import { build as prettyStream } from 'pino-pretty';
import type { Config } from './config/config.js';

/** The log of the service: JSON lines in production, text for people otherwise. */
export function createLogger({ environment, logLevel }: Pick<Config, 'environment' | 'logLevel'>): Logger {
  const options = { level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters };
  if (environment === 'production') return pino(options);
  return pino(options, prettyStream({ colorize: process.stdout.isTTY, ignore: 'context', messageFormat, sync: true }));
}

const formatters = { level: (level: string) => ({ level }) };
const messageFormat = '{if context}[{context}] {end}{msg}';

/** Contexts in which Nest tells of every module and route at start. */
const FRAMEWORK = new Set<unknown>([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** Sends what Nest and the modules log through Nest's `Logger` into the same log. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write(FRAMEWORK.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest's convention: the last extra argument names the context; what else there is, such as a stack, goes with it. */
  private write(
    level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace',
    message: unknown,
    rest: unknown[],
  ): void {
    const context = rest.at(-1);
    const extra = rest.slice(0, -1).filter((value) => value !== undefined);
    const fields = { context, ...(extra.length > 0 && { detail: extra.length === 1 ? extra[0] : extra }) };
    if (message instanceof Error) this.logger[level]({ ...fields, err: message }, message.message);
    else this.logger[level](fields, typeof message === 'string' ? message : JSON.stringify(message));
  }
}
