import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyRequest } from 'fastify';

/** Who makes a change, as the service knows it. */
export interface Actor {
  readonly issuer?: string;
  readonly subject?: string;
  /** Address of the client. */
  readonly address?: string;
  readonly requestId?: string;
}

const actors = new AsyncLocalStorage<() => Actor>();

const NOBODY: Actor = {};

/** Who makes the changes of the running work; without a request and `actAs`, an actor without properties. */
export function currentActor(): Actor {
  return actors.getStore()?.() ?? NOBODY;
}

/** Names who makes the changes of `work`: for jobs, and for messages of WebSockets. Requests are named without it. */
export function actAs<T>(actor: Actor, work: () => T): T {
  return actors.run(() => actor, work);
}

/** Names a request as who makes the changes of `work`. Its subject may become known later. */
export function actAsRequest(request: FastifyRequest, work: () => void): void {
  const actor = (): Actor => {
    const { id: requestId, ip: address, user } = request;
    return { issuer: storable(user?.issuer), subject: storable(user?.subject), address, requestId };
  };
  actors.run(actor, work);
}

/** PostgreSQL stores neither NUL nor lone surrogates, which a token may have. */
const storable = (text?: string): string | undefined => text?.toWellFormed().replaceAll('\0', '\ufffd');
