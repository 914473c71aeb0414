import type { HttpResponse } from '../support/http-response.js';
import type { Attempt, ModelClient } from './model-client.js';
import { listViolation } from './model-list.js';
import type { KnownRecord, PossibleCounts } from './model-records.js';
import { ALLOW } from './model-request.js';

const SUCCESS: Record<string, number> = { GET: 200, HEAD: 200, PUT: 200, PATCH: 204, DELETE: 204, OPTIONS: 204 };

/** Finds errors in a response, by the client's knowledge of its records. */
export function outcomeViolation(
  attempt: Attempt,
  response: HttpResponse,
  client: ModelClient,
  counts: PossibleCounts,
): string | undefined {
  const { draft, rejection, isNotModified } = attempt;
  if (response.status === 503) return undefined;
  if (rejection !== undefined) return rejectionViolation(attempt, response);
  if (attempt.repeats !== undefined) return replayViolation(attempt.repeats.response, response);
  if (draft.method === 'POST') return createViolation(attempt, response, counts);
  const expected = isNotModified ? 304 : SUCCESS[draft.method]!;
  if (response.status !== expected) return `${response.status} instead of ${expected}${saying(response)}`;
  if (draft.method === 'OPTIONS') return optionsViolation(attempt, response);
  if (draft.path !== '/cookies') return recordViolation(attempt, response);
  return countViolation(attempt, response, counts) ?? listed(attempt, response, client);
}

function rejectionViolation({ rejection }: Attempt, response: HttpResponse): string | undefined {
  const { status, errorCode, allow } = rejection!;
  if (response.status !== status) return `${response.status} instead of ${status}${saying(response)}`;
  if (allow !== undefined && response.headers.get('allow') !== allow) {
    return `Allow is ${response.headers.get('allow')} instead of ${allow}`;
  }
  if (errorCode === undefined || response.content.length === 0) return undefined;
  const body = JSON.parse(response.content.toString()) as { errorCode: string };
  return body.errorCode === errorCode ? undefined : `${body.errorCode} instead of ${errorCode}`;
}

/** A repeated POST must have the first response, even if its record or the storage has changed since. */
function replayViolation(first: HttpResponse, { status, headers, content }: HttpResponse): string | undefined {
  if (status !== 201) return `${status} instead of the 201 of the first request with this key`;
  if (headers.get('idempotency-replayed') !== 'true') return 'A repeated POST was done again';
  const isSame = content.equals(first.content) && headers.get('location') === first.headers.get('location');
  return isSame ? undefined : `The repeated response is ${content.toString()} instead of ${first.content.toString()}`;
}

/** 201 needs a free place; 507 needs a moment without one. */
function createViolation({ draft }: Attempt, response: HttpResponse, counts: PossibleCounts): string | undefined {
  const { fewest, most } = counts.bounds();
  if (response.status === 507) {
    return most < counts.capacity ? `507 with at most ${most} of ${counts.capacity} records` : undefined;
  }
  if (response.status !== 201) return `${response.status} instead of 201 or 507${saying(response)}`;
  if (fewest >= counts.capacity) return `201 with at least ${fewest} of ${counts.capacity} records`;
  const { id, ...created } = JSON.parse(response.content.toString()) as KnownRecord;
  const sent = JSON.parse(Buffer.from(draft.body!, 'latin1').toString()) as object;
  if (!sameFields(created, sent)) return `The record created is ${JSON.stringify(created)}`;
  if (response.headers.get('location') !== `/cookies/${id}`) return `Location is ${response.headers.get('location')}`;
  if (response.headers.has('idempotency-replayed')) return 'A first POST is said to be a repetition';
  return response.headers.has('etag') ? undefined : 'The response to POST has no ETag';
}

function optionsViolation({ draft }: Attempt, { headers }: HttpResponse): string | undefined {
  const isRecord = draft.path !== '/cookies';
  const allow = isRecord ? ALLOW.record : ALLOW.collection;
  if (headers.get('allow') !== allow) return `Allow is ${headers.get('allow')} instead of ${allow}`;
  return headers.has('accept-patch') === isRecord ? undefined : 'Accept-Patch is in the wrong place';
}

function recordViolation({ draft, record }: Attempt, response: HttpResponse): string | undefined {
  const { id, flavor, size, wish, etag: known } = record!;
  const etag = response.headers.get('etag');
  const changes = ['PUT', 'PATCH'].includes(draft.method) ? (JSON.parse(draft.body!) as Partial<KnownRecord>) : {};
  const after = { id, flavor, size, wish, ...changes };
  const isChanged = after.flavor !== flavor || after.size !== size;
  if (draft.method === 'PUT' ? etag !== undefined : draft.method !== 'DELETE' && etag === undefined) {
    return `The ETag of ${draft.method} is ${etag}`;
  }
  if (etag !== undefined && known !== undefined && (etag === known) === isChanged) {
    return `The ETag is ${etag}, and was ${known} before`;
  }
  if (response.content.length === 0) return undefined;
  const found = JSON.parse(response.content.toString()) as object;
  return sameFields(found, after) ? undefined : `The record is ${JSON.stringify(found)}`;
}

function countViolation({ draft }: Attempt, { headers }: HttpResponse, counts: PossibleCounts): string | undefined {
  const isFiltered = draft.query.some(([name]) => name === 'flavor' || name === 'size');
  const total = headers.get('x-total-count');
  if (isFiltered) return total === undefined ? undefined : 'A filtered list tells the count of all';
  const { fewest, most } = counts.bounds();
  if (Number(total) >= fewest && Number(total) <= most) return undefined;
  return `X-Total-Count is ${total} instead of ${fewest} to ${most}`;
}

function listed({ draft }: Attempt, response: HttpResponse, client: ModelClient): string | undefined {
  if (response.content.length === 0) return undefined;
  return listViolation(response, draft.query, [...client.records.values()], client.isOwn);
}

function sameFields(a: object, b: object): boolean {
  const sorted = (value: object): string => JSON.stringify(Object.entries(value).sort());
  return sorted(a) === sorted(b);
}

const saying = ({ content }: HttpResponse): string =>
  content.length === 0 ? '' : `: ${content.toString('latin1', 0, 200)}`;
