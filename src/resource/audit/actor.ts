import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyRequest } from 'fastify';
import { principalOf } from '../../auth/principal.js';
import type { Sql } from '../../database/engine.js';
import { clientAddress } from '../../http/messages/request.js';
import type { ResourceTable } from '../store/resource-table.js';
import { seal } from './audit-lines.js';
import { ACTORS_SETTING } from './audit-triggers.js';

/** The subject and the request that make a change, as far as the service knows them. */
export interface Actor {
  readonly issuer?: string;
  readonly subject?: string;
  readonly address?: string;
  readonly requestId?: string;
}

const actors = new AsyncLocalStorage<() => Actor>();

/** The actor of the current request or `actAs`; elsewhere it has no properties. */
export function currentActor(): Actor {
  return actors.getStore()?.() ?? {};
}

/** Names the actor of the changes that `work` makes: for jobs and messages of WebSockets. Requests need no call. */
export function actAs<T>(actor: Actor, work: () => T): T {
  return actors.run(() => actor, work);
}

/** Names a request as the actor of `work`. Its guard sets the subject later. */
export function actAsRequest(request: FastifyRequest, work: () => void): void {
  const actor = (): Actor => {
    const { id: requestId, ip, socket } = request;
    const { issuer, subject } = principalOf(request);
    const address = clientAddress(ip, socket.remoteAddress);
    return { issuer: storable(issuer), subject: storable(subject), address, requestId };
  };
  actors.run(actor, work);
}

/** PostgreSQL stores neither NUL nor lone surrogates, which a token may have. */
const storable = (text?: string): string | undefined => text?.toWellFormed().replaceAll('\0', '\ufffd');

/** Actors by the revision of the row that a statement inserts; 0 is the actor of all rows that it changes. */
export type ActorsByRevision = readonly (readonly [revision: number, actor: Actor])[];

/** Runs a statement of a transaction, tells the audit triggers its actors, and seals its lines. */
export async function runAudited<T>(
  { dataSource, name }: Pick<ResourceTable, 'dataSource' | 'name'>,
  transaction: Sql,
  actors: ActorsByRevision,
  statement: () => Promise<T>,
): Promise<T> {
  const json = JSON.stringify(Object.fromEntries(actors));
  if (dataSource.options.type === 'postgres') {
    await transaction.query(`SELECT set_config('${ACTORS_SETTING}', ?, true)`, [json]);
    return statement();
  }
  await transaction.query(
    `INSERT OR REPLACE INTO audit_actors (revision, issuer, subject, address, request_id)
     SELECT CAST(key AS integer), value ->> 'issuer', value ->> 'subject', value ->> 'address', value ->> 'requestId'
     FROM json_each(?)`,
    [json],
  );
  const forgetActors = () => transaction.query('DELETE FROM audit_actors', []);
  const result = await statement().catch(async (error: unknown) => {
    // If the transaction has ended, the database has forgotten the actors.
    await forgetActors().catch(() => undefined);
    throw error;
  });
  await forgetActors();
  await seal(dataSource, transaction, name);
  return result;
}
