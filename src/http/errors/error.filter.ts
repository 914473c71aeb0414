import { inspect } from 'node:util';
import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DataSource } from 'typeorm';
import { constraintViolation } from '../../database/constraint-violation.js';
import { constraintError } from './constraint-error.js';
import { ErrorLog } from './error-log.js';
import { type ErrorResponse, errorResponse, protocolErrorResponse } from './error-response.js';

const logger = new Logger('Error');

/** Sends the response to every error that a handler, a guard or a pipe throws, or Fastify before them. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly log: ErrorLog,
    @InjectDataSource() private readonly dataSource: DataSource,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const violation = constraintViolation(error, this.dataSource.entityMetadatas);
    if (violation === undefined) {
      this.log.rejected(error, request);
      sendError(error, request, reply);
    } else {
      const rejection = constraintError(violation, request);
      this.log.violated(violation, rejection.getStatus(), request);
      sendError(rejection, request, reply);
    }
  }
}

/** Sends the response to an error, and logs a 500 with its stack. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  send(errorResponse(error, request.id), error, request, reply);
}

/** Sends the response to an error of Fastify itself, such as a path that cannot be decoded. */
export function sendProtocolError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  send(protocolErrorResponse(error, request.id), error, request, reply);
}

function send(response: ErrorResponse, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers, body } = response;
  if (status === 500) {
    logger.error(`${request.method} ${request.routeOptions?.url ?? ''} failed (request ${request.id})`, detail(error));
  }
  // A list that fails after its status was sent is cut off, so that it does not look complete.
  if (reply.sent || reply.raw.headersSent) {
    reply.raw.destroy();
    return;
  }
  reply.code(status).headers(headers).send(body);
}

function detail(error: unknown): string {
  if (!(error instanceof Error)) return inspect(error);
  return error.cause instanceof Error ? `${error.stack}\nCaused by: ${error.cause.stack}` : String(error.stack);
}
