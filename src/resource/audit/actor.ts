import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyRequest } from 'fastify';

/** The subject and the request that make a change, as far as the service knows them. */
export interface Actor {
  readonly issuer?: string;
  readonly subject?: string;
  readonly address?: string;
  readonly requestId?: string;
}

const actors = new AsyncLocalStorage<() => Actor>();

const UNKNOWN: Actor = {};

/** The actor of the current request or `actAs`; elsewhere it has no properties. */
export function currentActor(): Actor {
  return actors.getStore()?.() ?? UNKNOWN;
}

/** Names the actor of the changes that `work` makes: for jobs and messages of WebSockets. Requests need no call. */
export function actAs<T>(actor: Actor, work: () => T): T {
  return actors.run(() => actor, work);
}

/** Names a request as the actor of `work`. Its subject may become known later. */
export function actAsRequest(request: FastifyRequest, work: () => void): void {
  const actor = (): Actor => {
    const { id: requestId, ip: address, user } = request;
    return { issuer: storable(user?.issuer), subject: storable(user?.subject), address, requestId };
  };
  actors.run(actor, work);
}

/** PostgreSQL stores neither NUL nor lone surrogates, which a token may have. */
const storable = (text?: string): string | undefined => text?.toWellFormed().replaceAll('\0', '\ufffd');
