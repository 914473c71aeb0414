import type { Change } from './change-log.js';
import type { FuzzPart } from './fuzz.js';
import type { LogBook } from './log-book.js';
import { type Fields, HttpClient } from '../support/http-client.js';
import type { HttpResponse } from '../support/http-response.js';
import { type Attempt, ModelClient } from './model-client.js';
import { RecordCount } from './model-records.js';
import { Random } from './random.js';
import { escapedBytes } from './message.js';
import { lastWords, type ServiceUnderTest } from './service-under-test.js';
import { Violation } from './violation.js';

/** Requests that a client remembers for the report of a violation. */
const HISTORY = 60;

interface Seat {
  readonly client: ModelClient;
  readonly connection: HttpClient;
  readonly history: string[];
}

/**
 * Lets clients send random valid and invalid requests, each for its own records, and compares every response with the
 * contract.
 */
export class ModelFuzz implements FuzzPart {
  readonly counts = { requests: 0, changes: 0, replayed: 0, rejected: 0, full: 0, unavailable: 0 };
  private readonly records: RecordCount;
  private readonly seats: Seat[];
  private statuses = new Map<string, number>();
  /** Repetitions since the last comparison, which are 201 in the log and store nothing. */
  private replayed = 0;

  constructor(
    private readonly service: ServiceUnderTest,
    seed: number,
    clients: number,
    capacity: number,
  ) {
    this.records = new RecordCount(capacity);
    this.seats = Array.from({ length: clients }, (_, index) => ({
      client: new ModelClient(`m${index.toString(36)}`, new Random(seed, index + 1), service.tokens),
      connection: new HttpClient(service.url.origin),
      history: [],
    }));
  }

  async sendUntil(requests: number): Promise<void> {
    const playAll = async (seat: Seat): Promise<void> => {
      while (this.counts.requests < requests) await this.playNext(seat);
    };
    await Promise.all(this.seats.map(playAll));
  }

  compare(changes: readonly Change[]): void {
    const wrong = logViolation(this.statuses, this.service.log) ?? this.changesViolation(changes);
    if (wrong !== undefined) throw new Violation(wrong);
    this.statuses = new Map();
    this.replayed = 0;
  }

  close(): void {
    for (const { connection } of this.seats) connection.close();
  }

  private async playNext({ client, connection, history }: Seat): Promise<void> {
    const attempt = client.next();
    const { id, draft, repeats } = attempt;
    const effect = repeats === undefined ? draft.method : 'none';
    const { rules, process: child, tokens } = this.service;
    const text = escapedBytes(JSON.stringify(draft), tokens);
    const fail = (violation: string): never => {
      throw new Violation(`${id}: ${violation}`, [...history, text]);
    };
    this.counts.requests += 1;
    const counts = this.records.begin(effect);
    const response = await send(connection, attempt).catch((error: Error) =>
      fail(child.hasEnded ? lastWords(child) : error.message),
    );
    const violation = rules.violation(response) ?? client.settle(attempt, response, counts);
    counts.end(response.status < 300);
    if (repeats !== undefined && response.status === 201) this.replayed += 1;
    const failure = response.status >= 500 ? ` ${response.content.toString()}` : '';
    history.push(`${response.status} ${text}${failure}`);
    if (history.length > HISTORY) history.shift();
    if (violation !== undefined) fail(violation);
    if (response.headers.get('x-request-id') !== id) fail('The response bears another X-Request-Id');
    this.statuses.set(id, response.status);
    this.counts.rejected += response.status >= 400 ? 1 : 0;
    this.counts.full += response.status === 507 ? 1 : 0;
    this.counts.unavailable += response.status === 503 ? 1 : 0;
  }

  /** Compares the changes of the database with the responses. */
  private changesViolation(found: readonly Change[]): string | undefined {
    this.counts.changes += found.length;
    const counted = (operation: string): number => found.filter((change) => change.operation === operation).length;
    const said = (method: string, status: number): number =>
      this.service.log.counted((line) => line.method === method && line.status === status);
    const [inserted, deleted] = [counted('insert'), counted('delete')];
    const [created, gone] = [said('POST', 201) - this.replayed, said('DELETE', 204)];
    this.counts.replayed += this.replayed;
    if (inserted === created && deleted === gone) return undefined;
    return `${inserted} records were stored and ${deleted} deleted, and the log says ${created} and ${gone}`;
  }
}

/** Every request has one line with the status of its response. */
function logViolation(statuses: ReadonlyMap<string, number>, log: LogBook): string | undefined {
  for (const [id, status] of statuses) {
    const lines = log.of(id);
    if (lines.length === 1 && lines[0]!.status === status) continue;
    return `${id} was answered with ${status}; its request lines: ${JSON.stringify(lines).slice(0, 500)}`;
  }
  return undefined;
}

function send(connection: HttpClient, { id, draft }: Attempt): Promise<HttpResponse> {
  const { method, path, query, headers, authorization, contentType, body } = draft;
  const fields: Fields = { ...headers, 'x-request-id': id };
  if (authorization !== undefined) fields['authorization'] = authorization;
  if (contentType !== undefined) fields['content-type'] = contentType;
  const search = query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
  const bytes = body === undefined ? undefined : Buffer.from(body, 'latin1');
  return connection.send(method, search === '' ? path : `${path}?${search}`, fields, bytes);
}
