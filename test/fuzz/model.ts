import type { LogBook } from './log-book.js';
import { type Fields, HttpClient } from '../support/http-client.js';
import type { HttpResponse } from '../support/http-response.js';
import { type Attempt, ModelClient } from './model-client.js';
import { RecordCount } from './model-records.js';
import { Random } from './random.js';
import type { FuzzRun } from './raw.js';
import { escapedBytes } from './message.js';
import { endViolation, lastWords, type ServiceUnderTest, type StartedService } from './service-under-test.js';

/** Requests until the log and the records are compared. */
const EPOCH = 40_000;
/** Requests that a client remembers for the report of a violation. */
const HISTORY = 12;

export class ModelViolation extends Error {
  constructor(
    message: string,
    /** The last requests of the client, one a line. */
    readonly history: string,
  ) {
    super(message);
  }
}

export type ModelCounts = Record<'requests' | 'changes' | 'replayed' | 'rejected' | 'full' | 'unavailable', number>;

export interface ModelRun extends FuzzRun {
  readonly clients: number;
  readonly capacity: number;
}

/**
 * Lets clients send random valid and invalid requests, each for its own records, and compares every response with the
 * contract.
 * @throws {ModelViolation}
 */
export async function fuzzModel(services: ServiceUnderTest, run: ModelRun): Promise<ModelCounts> {
  const service = await services.start();
  const fuzz = new ModelFuzz(service, run);
  while (fuzz.counts.requests < run.requests) {
    await fuzz.epoch(Math.min(run.requests, fuzz.counts.requests + EPOCH));
  }
  await fuzz.end();
  return fuzz.counts;
}

interface Seat {
  readonly client: ModelClient;
  readonly connection: HttpClient;
  readonly history: string[];
}

class ModelFuzz {
  readonly counts: ModelCounts = { requests: 0, changes: 0, replayed: 0, rejected: 0, full: 0, unavailable: 0 };
  private readonly records: RecordCount;
  private readonly seats: Seat[];
  private readonly began = performance.now();
  private statuses = new Map<string, number>();
  /** Repetitions of the epoch, which are 201 in the log and store nothing. */
  private replayed = 0;
  private serial = 0;

  constructor(
    private readonly service: StartedService,
    private readonly run: ModelRun,
  ) {
    this.records = new RecordCount(run.capacity);
    this.seats = Array.from({ length: run.clients }, (_, index) => ({
      client: new ModelClient(`m${index.toString(36)}`, new Random(run.seed, index + 1), service.tokens),
      connection: new HttpClient(service.url.origin),
      history: [],
    }));
  }

  async epoch(requests: number): Promise<void> {
    await Promise.all(this.seats.map((seat) => this.playUntil(seat, requests)));
    const rate = Math.round(this.counts.requests / ((performance.now() - this.began) / 1000));
    await this.service.log.settle();
    const wrong = logViolation(this.statuses, this.service.log) ?? (await this.changesViolation());
    if (wrong !== undefined) throw new ModelViolation(wrong, '');
    this.statuses = new Map();
    this.replayed = 0;
    this.service.log.forget();
    this.run.progress?.(`model: ${this.counts.requests} of ${this.run.requests} requests, ${rate} a second`);
  }

  async end(): Promise<void> {
    for (const { connection } of this.seats) connection.close();
    const violation = await endViolation(this.service.process);
    if (violation !== undefined) throw new ModelViolation(violation, '');
  }

  private async playUntil(seat: Seat, requests: number): Promise<void> {
    while (this.counts.requests < requests) await this.playNext(seat);
  }

  private async playNext({ client, connection, history }: Seat): Promise<void> {
    const attempt = client.next();
    const { id, draft, repeats } = attempt;
    const effect = repeats === undefined ? draft.method : 'none';
    const { rules, process: child, tokens } = this.service;
    const text = escapedBytes(JSON.stringify(draft), tokens);
    const fail = (violation: string): never => {
      throw new ModelViolation(`${id}: ${violation}`, [...history, text].join('\n'));
    };
    this.counts.requests += 1;
    const { before } = this.records;
    this.records.begin(effect);
    const response = await send(connection, attempt).catch((error: Error) =>
      fail(child.hasEnded ? lastWords(child) : error.message),
    );
    const violation = rules.violation(response) ?? client.settle(attempt, response, this.records, before);
    this.records.end(effect, response.status < 300);
    if (repeats !== undefined && response.status === 201) this.replayed += 1;
    history.push(`${response.status} ${text}`);
    if (history.length > HISTORY) history.shift();
    if (violation !== undefined) fail(violation);
    if (response.headers.get('x-request-id') !== id) fail('The response bears another X-Request-Id');
    this.statuses.set(id, response.status);
    this.counts.rejected += response.status >= 400 ? 1 : 0;
    this.counts.full += response.status === 507 ? 1 : 0;
    this.counts.unavailable += response.status === 503 ? 1 : 0;
  }

  /** Compares the changes of the database with the responses. */
  private async changesViolation(): Promise<string | undefined> {
    const found = await this.service.changes.after(this.serial);
    this.serial = found.at(-1)?.serial ?? this.serial;
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
