import type { HttpResponse } from '../support/http-response.js';
import type { Tokens } from './message.js';
import { anyBody, MOST_DAMAGE } from './model-bodies.js';
import { condition } from './model-conditions.js';
import type { KnownRecord, PossibleCounts } from './model-records.js';
import { type Draft, listQuery, type Rejection, spoil } from './model-request.js';
import { outcomeViolation } from './model-outcome.js';
import type { Random } from './random.js';

type Kind = 'create' | 'read' | 'replace' | 'patch' | 'delete' | 'list' | 'options';

const KINDS = [
  [30, 'create'],
  [25, 'read'],
  [12, 'replace'],
  [12, 'patch'],
  [14, 'delete'],
  [15, 'list'],
  [2, 'options'],
] as const satisfies (readonly [number, Kind])[];

const METHODS: Record<Kind, string> = {
  create: 'POST',
  read: 'GET',
  replace: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  list: 'GET',
  options: 'OPTIONS',
};

/** A POST with an `Idempotency-Key`, and its response. */
interface KeyedCreate {
  readonly draft: Draft;
  readonly response: HttpResponse;
}

/** Requests with a key that a client may repeat. */
const MOST_KEYED = 20;

/** A request, and the response that the model expects. */
export interface Attempt {
  /** Its `X-Request-Id`. */
  readonly id: string;
  readonly draft: Draft;
  /** The record before the request; absent if there is none. */
  readonly record?: KnownRecord;
  readonly rejection?: Rejection;
  /** Whether a read must be 304. */
  readonly isNotModified: boolean;
  /** The request that this one repeats with its key; it may have another body. */
  readonly repeats?: KeyedCreate;
}

/** A client with its next request and its knowledge. No other client writes its records. */
export class ModelClient {
  readonly records = new Map<number, KnownRecord>();
  private readonly deleted: number[] = [];
  private readonly keyed: KeyedCreate[] = [];
  private step = 0;

  constructor(
    readonly name: string,
    private readonly random: Random,
    private readonly tokens: Tokens,
  ) {}

  /** The first characters of its wishes: so long that a damaged body has never those of another client. */
  private readonly signature = `${this.name.repeat(MOST_DAMAGE + 1)}-`;

  /** Tells whether a record belongs to this client. */
  readonly isOwn = ({ id, wish }: { id: number; wish: string }): boolean =>
    this.records.has(id) || wish.startsWith(this.signature);

  next(): Attempt {
    const { random } = this;
    if (this.keyed.length > 0 && random.chance(0.06)) return this.repetition(random.pick(this.keyed));
    const kind = random.weighted(KINDS);
    const isOnRecord = !['create', 'list'].includes(kind) && (kind !== 'options' || random.chance(0.5));
    const id = this.anyId();
    const draft: Draft = {
      method: METHODS[kind],
      path: isOnRecord ? `/cookies/${id}` : '/cookies',
      query: kind === 'list' ? listQuery(random, id) : [],
      headers: {},
    };
    if (kind !== 'options') draft.authorization = `Bearer ${this.tokens.both}`;
    if (['read', 'list'].includes(kind) && random.chance(0.15)) draft.method = 'HEAD';
    const record = isOnRecord ? this.records.get(id) : undefined;
    return this.attempt(draft, kind, record);
  }

  /** Updates the knowledge of the client by a response. @returns the violation */
  settle(attempt: Attempt, response: HttpResponse, counts: PossibleCounts): string | undefined {
    const violation = outcomeViolation(attempt, response, this, counts);
    if (violation !== undefined || response.status >= 300 || attempt.repeats !== undefined) return violation;
    const { draft, record } = attempt;
    const etag = response.headers.get('etag');
    if (draft.method === 'DELETE') {
      this.records.delete(record!.id);
      this.deleted.push(record!.id);
    } else if (draft.method === 'POST') {
      const created = JSON.parse(response.content.toString()) as KnownRecord;
      this.records.set(created.id, { ...created, etag });
      if (draft.headers['idempotency-key'] !== undefined) this.keyed.push({ draft, response });
      if (this.keyed.length > MOST_KEYED) this.keyed.shift();
    } else if (record !== undefined && draft.method !== 'OPTIONS') {
      this.records.set(record.id, changed(record, draft, etag));
    }
    return undefined;
  }

  private attempt(draft: Draft, kind: Kind, record: KnownRecord | undefined): Attempt {
    const { random } = this;
    const id = `${this.name}.${this.step++}`;
    let isAccepted = true;
    if (['create', 'replace', 'patch'].includes(kind)) {
      const body = anyBody(random, draft.method, `${this.signature}${this.step}${random.pick(['', ' 🍪', ' é"\\'])}`);
      draft.contentType = kind === 'patch' && random.chance(0.3) ? 'application/merge-patch+json' : 'application/json';
      draft.body = body.bytes;
      isAccepted = body.isAccepted;
    }
    if (kind === 'create' && random.chance(0.25)) draft.headers['idempotency-key'] = id;
    let rejection = kind === 'options' ? undefined : spoil(draft, random, this.tokens);
    if (!isAccepted) rejection ??= { status: 400 };
    if (/^\/cookies\/\d+$/.test(draft.path) && record === undefined && kind !== 'options') {
      rejection ??= { status: 404, errorCode: 'COOKIE_NOT_FOUND' };
    }
    const set = kind === 'options' ? { isMet: true, isNotModified: false } : condition(draft, record, random);
    if (!set.isMet) rejection ??= { status: 412, errorCode: 'PRECONDITION_FAILED' };
    return { id, draft, record, rejection, isNotModified: set.isNotModified };
  }

  private repetition(repeats: KeyedCreate): Attempt {
    const attempt = { id: `${this.name}.${this.step++}`, draft: repeats.draft, isNotModified: false, repeats };
    if (!this.random.chance(0.2)) return attempt;
    const draft = { ...repeats.draft, body: withOtherSize(repeats.draft.body!) };
    return { ...attempt, draft, rejection: { status: 422, errorCode: 'IDEMPOTENCY_KEY_REUSED' } };
  }

  private anyId(): number {
    const { random } = this;
    if (this.records.size > 0 && !random.chance(0.06)) return random.pick([...this.records.keys()]);
    return this.deleted.length > 0 && random.chance(0.7)
      ? random.pick(this.deleted)
      : 9_000_000_000 + random.below(1000);
  }
}

/** @param body in latin1, a character for each byte */
function withOtherSize(body: string): string {
  const cookie = JSON.parse(Buffer.from(body, 'latin1').toString()) as KnownRecord;
  const other = { ...cookie, size: cookie.size === 'small' ? 'large' : 'small' };
  return Buffer.from(JSON.stringify(other)).toString('latin1');
}

/** A record after a successful change or read. */
function changed(record: KnownRecord, draft: Draft, etag: string | undefined): KnownRecord {
  if (draft.method === 'GET' || draft.method === 'HEAD') return { ...record, etag };
  const changes = JSON.parse(Buffer.from(draft.body!, 'latin1').toString()) as Partial<KnownRecord>;
  const after = { ...record, ...changes };
  if (after.flavor === record.flavor && after.size === record.size) return { ...after, etag: etag ?? record.etag };
  return { ...after, etag, staleEtag: record.etag };
}
