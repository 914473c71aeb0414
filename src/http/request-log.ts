import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

/** The route's template, such as `/cookies/:id`; a path that has none is never named. */
export function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
}

/** Logs one line for each request when its answer is sent or its client has gone. Tokens and bodies are never logged. */
export function logRequests(app: FastifyInstance, logger: Logger): void {
  const log = (request: FastifyRequest, reply: FastifyReply, message: string): void => {
    logger.info(
      {
        requestId: request.id,
        method: request.method,
        route: routeOf(request),
        status: reply.statusCode,
        milliseconds: Math.round(reply.elapsedTime * 1000) / 1000,
        subject: (request as { user?: { subject: string } }).user?.subject,
      },
      message,
    );
  };
  app.addHook('onResponse', (request, reply, done) => {
    // A response that was cut off ends here too, not in `onRequestAbort` alone.
    log(request, reply, reply.raw.writableFinished ? 'request' : 'request cut off');
    done();
  });
}
