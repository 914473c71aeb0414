import { HttpException } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import { ApiError, codeOfStatus } from './api-error.js';
import type { TrackedResponse } from '../connections/tracked-response.js';
import { messageOfStatus } from './error-response.js';

type FastifyErrorHandler = Parameters<FastifyAdapter['setErrorHandler']>[0];

/**
 * Nest's adapter, which tells apart what Fastify and its plugins reject and what a handler throws: only the former comes to
 * Fastify's error handler.
 */
export class ErrorAdapter extends FastifyAdapter {
  static {
    // Packages, such as nestjs-cls, know the adapter by the name of its class.
    Object.defineProperty(this, 'name', { value: FastifyAdapter.name });
  }

  override setErrorHandler(handler: FastifyErrorHandler): ReturnType<FastifyAdapter['setErrorHandler']> {
    return super.setErrorHandler(function (this, error, request, reply) {
      return handler.call(this, rejectionOf(error, reply), request, reply) as unknown;
    });
  }
}

/**
 * An error that Fastify, a hook or a body parser throws has the status that its `statusCode` names, by the convention of Fastify
 * (https://fastify.dev/docs/latest/Reference/Errors/): 4xx, or 503 for overload. Its header fields, such as `Retry-After`, are
 * on the reply already; its message is not for the clients of this service. Any other error stays what it is.
 */
function rejectionOf<T>(error: T, reply: FastifyReply): T | ApiError {
  if (error instanceof HttpException) return error;
  const { statusCode: status } = (error ?? {}) as { statusCode?: unknown };
  if (!isForClients(status) || failedWhileSent(reply)) return error;
  return new ApiError(status, codeOfStatus(status), messageOfStatus(status), { cause: error });
}

function isForClients(status: unknown): status is number {
  return Number.isInteger(status) && (((status as number) >= 400 && (status as number) < 500) || status === 503);
}

/** Then the handler has run, and the error comes from the stream that it has returned: it may be that of another service. */
function failedWhileSent({ raw }: FastifyReply): boolean {
  return (raw as Partial<TrackedResponse>).isAnswered === true;
}
