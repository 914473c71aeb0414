import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ErrorLog } from './error-log.js';
import { errorResponse } from './error-response.js';

const logger = new Logger('Error');

/** Answers every error that reaches Nest, whether thrown by a handler, a guard, a pipe or by Fastify before them. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly log: ErrorLog) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    this.log.rejected(error, request);
    sendError(error, request, http.getResponse<FastifyReply>());
  }
}

/** Sends the response for an error, and logs it with its stack when nobody foresaw it. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers, body } = errorResponse(error, request.id);
  if (status === 500) {
    logger.error(`${request.method} ${request.routeOptions?.url ?? ''} failed (request ${request.id})`, detail(error));
  }
  // A list that fails half-way has sent its status already: cut it off, so that nobody takes it for whole.
  if (reply.sent || reply.raw.headersSent) {
    reply.raw.destroy();
    return;
  }
  reply.code(status).headers(headers).send(body);
}

function detail(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.stack}\nCaused by: ${error.cause.stack}` : String(error.stack);
}
