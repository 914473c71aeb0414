import { HttpException } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import { ApiError, codeOfStatus } from './api-error.js';
import type { TrackedResponse } from '../connections/tracked-response.js';
import { messageOfStatus } from './error-response.js';

type FastifyErrorHandler = Parameters<FastifyAdapter['setErrorHandler']>[0];

/** Nest's adapter. It converts errors of Fastify and its plugins, which come to Fastify's error handler, to ApiErrors. */
export class ErrorAdapter extends FastifyAdapter {
  static {
    // Packages such as nestjs-cls recognise the adapter by the name of its class.
    Object.defineProperty(this, 'name', { value: FastifyAdapter.name });
  }

  override setErrorHandler(handler: FastifyErrorHandler): ReturnType<FastifyAdapter['setErrorHandler']> {
    return super.setErrorHandler(function (this, error, request, reply) {
      return handler.call(this, rejectionOf(error, reply), request, reply) as unknown;
    });
  }
}

/**
 * Converts an error of Fastify, a hook or a body parser whose `statusCode` is 4xx or 503
 * (https://fastify.dev/docs/latest/Reference/Errors/). Its message is not for clients; its header fields are on the reply.
 */
function rejectionOf<T>(error: T, reply: FastifyReply): T | ApiError {
  if (error instanceof HttpException) return error;
  const { statusCode: status } = (error ?? {}) as { statusCode?: unknown };
  if (!isForClients(status)) return error;
  // The handler has run: the error comes from the stream that it returned, and may be that of another service.
  if ((reply.raw as Partial<TrackedResponse>).isAnswered === true) return error;
  return new ApiError(status, codeOfStatus(status), messageOfStatus(status), { cause: error });
}

function isForClients(status: unknown): status is number {
  return Number.isInteger(status) && (((status as number) >= 400 && (status as number) < 500) || status === 503);
}
