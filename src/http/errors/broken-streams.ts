import { Readable } from 'node:stream';
import { HttpException } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { ErrorLog } from './error-log.js';

/** Logs why the stream of a response failed behind its first bytes, when the response can only be cut off. */
export function logBrokenStreams(app: FastifyInstance, errors: ErrorLog): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (payload instanceof Readable) {
      payload.once('error', (error) => {
        // An HttpException is no failure of the source: the client has read the list too slowly.
        if (reply.raw.headersSent && !(error instanceof HttpException)) errors.brokeOff(error, request);
      });
    }
    done(null, payload);
  });
}
