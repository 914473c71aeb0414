import { randomUUID } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { inspect } from 'node:util';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { type Observable, throwError } from 'rxjs';
import { DataSource } from 'typeorm';
import { constraintViolation } from '../../database/constraint-violation.js';
import { stackOf } from '../../logging/reason.js';
import type { TrackedResponse } from '../connections/request-tracker.js';
import { ApiError } from './api-error.js';
import { originOf, replyOf } from '../messages/request.js';
import { ErrorLog } from './error-log.js';
import { constraintError, type ErrorBody, errorResponse, standardError } from './error-response.js';

const logger = new Logger('Error');

/** Sends the response to every error of Fastify, a guard, a pipe or a handler. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly log: ErrorLog,
    private readonly dataSource: DataSource,
  ) {}

  /** @returns the error for a handler of a microservice, as Nest expects it */
  catch(thrown: unknown, host: ArgumentsHost): Observable<never> | undefined {
    const reply = replyOf(host);
    const error = this.logged(thrown, originOf(host), reply?.request);
    if (host.getType() === 'rpc') return throwError(() => bodyOf(error, host, randomUUID()));
    if (reply === undefined) sendToSocket(error, host);
    else if (host.getType() === 'http') sendError(error, reply.request, reply);
    else throw errorOfField(error, host, reply.request.id);
    return undefined;
  }

  /** Logs an outage or a violated constraint, and returns the error for the client. */
  private logged(error: unknown, origin: string, request?: FastifyRequest): unknown {
    const violation = constraintViolation(error, this.dataSource.entityMetadatas);
    if (violation === undefined) {
      this.log.rejected(error, origin);
      return error;
    }
    const rejection = constraintError(violation, request);
    this.log.violated(violation, rejection.getStatus(), origin);
    return rejection;
  }
}

/** Sends an error in a message, `{"event":"exception","data":...}`, as Nest's filter for WebSockets does. */
function sendToSocket(error: unknown, host: ArgumentsHost): void {
  const body = bodyOf(error, host, randomUUID());
  const message = { event: 'exception', data: { ...body, cause: { pattern: host.switchToWs().getPattern() } } };
  host.switchToWs().getClient<{ send(text: string): void }>().send(JSON.stringify(message));
}

/** The error of a field of GraphQL. Its `extensions` have the body of the error, and `code`, which Apollo's clients read. */
function errorOfField(error: unknown, host: ArgumentsHost, requestId: string): Error {
  const { message, ...extensions } = bodyOf(error, host, requestId);
  return Object.assign(new Error(message), { extensions: { ...extensions, code: extensions.errorCode } });
}

function bodyOf(thrown: unknown, host: ArgumentsHost, requestId: string): ErrorBody {
  const error = isOfMessage(thrown) ? new ApiError(400, 'BAD_REQUEST', thrown.message) : thrown;
  const { status, body } = errorResponse(error, requestId);
  if (status === 500) logger.error(`${originOf(host)} failed (request ${requestId})`, detail(error));
  return body;
}

/** Recognises `WsException` and `RpcException`, whose packages may be absent, by the method that both have. */
function isOfMessage(error: unknown): error is Error {
  return error instanceof Error && typeof (error as { getError?: unknown }).getError === 'function';
}

/** Sends the response to an error, and logs a 500 with its stack. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers, body } = errorResponse(error, request.id);
  if (status === 500) {
    logger.error(`${request.method} ${request.routeOptions?.url ?? ''} failed (request ${request.id})`, detail(error));
  }
  // A list that fails after its status was sent is cut off, so that it does not look complete. A whole response stays.
  if (reply.sent || reply.raw.headersSent) {
    if (!reply.raw.writableEnded) reply.raw.destroy();
    return;
  }
  removeInvalidFields(reply);
  // A time that the handler or a plugin has set is better than the general one.
  const { 'retry-after': seconds } = reply.getHeaders();
  if (seconds !== undefined) headers['retry-after'] = String(seconds);
  reply.code(status).headers(headers).send(body);
}

/** Sends the response to an error of Fastify itself, such as a path that cannot be decoded. */
export function sendProtocolError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  // Fastify runs no hooks for such a request; the log needs the id of the response.
  (reply.raw as Partial<TrackedResponse>).reply ??= reply;
  sendError(rejectionOf(error, reply), request, reply);
}

/** Removes header fields that Node rejects, such as those with a line end: the error response would fail, too. */
function removeInvalidFields(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value as string);
    } catch {
      reply.removeHeader(name);
    }
  }
}

function detail(error: unknown): string {
  if (!(error instanceof Error)) return inspect(error);
  const stack = stackOf(error);
  return error.cause instanceof Error ? `${stack}\nCaused by: ${stackOf(error.cause)}` : stack;
}

type FastifyErrorHandler = Parameters<FastifyAdapter['setErrorHandler']>[0];

/**
 * Nest's adapter. Its error handler converts errors of Fastify and its plugins to ApiErrors. It is set before all
 * routes: Nest sets its error handler later, which is too late if a module awaits the registration of a plugin.
 */
export class ErrorAdapter extends FastifyAdapter {
  static {
    // Packages such as nestjs-cls recognise the adapter by the name of its class.
    Object.defineProperty(this, 'name', { value: FastifyAdapter.name });
  }

  private handler: FastifyErrorHandler = sendError;

  constructor(options: FastifyServerOptions) {
    super(options);
    super.setErrorHandler((error, request, reply) => {
      return this.handler.call(this.instance, rejectionOf(error, reply), request, reply) as unknown;
    });
  }

  override setErrorHandler(handler: FastifyErrorHandler): ReturnType<FastifyAdapter['setErrorHandler']> {
    this.handler = handler;
    return this.instance;
  }
}

/**
 * Converts an error of Fastify, a hook or a body parser whose `statusCode` is 4xx or 503. Fastify sends its header
 * fields; its message is only sent if a schema rejects the request.
 */
function rejectionOf<T>(error: T, reply: FastifyReply): T | ApiError {
  const { statusCode: status = 0, validation } = (error ?? {}) as { statusCode?: number; validation?: unknown };
  const isForClients = Number.isInteger(status) && ((status >= 400 && status < 500) || status === 503);
  if (error instanceof HttpException || !isForClients) return error;
  // The handler has run: the error comes from the stream that it returned, perhaps from another service.
  if ((reply.raw as Partial<TrackedResponse>).isAnswered === true) return error;
  if (validation !== undefined) return new ApiError(status, 'INVALID_REQUEST', (error as Error).message);
  return standardError(status, error);
}
