import { type HttpResponse, MalformedResponseError, parseResponse } from '../support/http-response.js';
import type { Message } from './message.js';
import type { ResponseRules } from './response-rules.js';
import type { Script, Transcript } from './script.js';

/** The results of a connection. */
export interface Findings {
  readonly responses: readonly HttpResponse[];
  /** The first violation. */
  readonly violation?: string;
}

/** Compares the bytes of a connection with its script. */
export function examine(script: Script, transcript: Transcript, rules: ResponseRules): Findings {
  const { responses, malformed } = responsesIn(script, transcript.received);
  const wrong = responses.map((response) => rules.violation(response)).find((violation) => violation !== undefined);
  const order = new ResponseOrder(script.messages, transcript.clientEnded);
  const violation = wrong ?? order.violationIn(responses);
  if (violation !== undefined || script.end === 'reset') return { responses, violation };
  if (malformed !== undefined) return { responses, violation: malformed };
  if (transcript.stuck) return { responses, violation: 'The service left a connection open on which nothing follows' };
  return { responses, violation: order.missing(responses.at(-1)) };
}

interface Parsed {
  readonly responses: HttpResponse[];
  readonly malformed?: string;
}

function responsesIn({ messages }: Script, bytes: Buffer): Parsed {
  // After a mutated message, an id may have moved into a request with another method.
  const firstMutated = messages.findIndex(({ expected }) => expected === undefined);
  const exact = firstMutated < 0 ? messages : messages.slice(0, firstMutated);
  const methods = new Map(exact.map(({ id, method }) => [id, method]));
  const responses: HttpResponse[] = [];
  for (let at = 0; at < bytes.length;) {
    // The id in the header section tells whether there is content.
    const head = bytes.toString('latin1', at, at + 4096);
    const method = methods.get(/\r\nx-request-id: ([^\r]*)/i.exec(head)?.[1] ?? '');
    const isHead = method === undefined ? 'unknown' : method === 'HEAD';
    try {
      const { response, next } = parseResponse(bytes, at, { head: isHead, ended: true })!;
      if (response.status >= 200) responses.push(response);
      at = next;
    } catch (error) {
      if (!(error instanceof MalformedResponseError)) throw error;
      return { responses, malformed: error.message };
    }
  }
  return { responses };
}

/**
 * Checks that responses come in the order of the requests, one for each. A mutated message may be any number of
 * requests, and may change later ones, until a valid message has its response.
 */
class ResponseOrder {
  private readonly indexes: ReadonlyMap<string, number>;
  /** The first message that may still have a response. */
  private position = 0;
  /** Responses since then that belong to no valid message. */
  private strays = 0;

  constructor(
    private readonly messages: readonly Message[],
    private readonly clientEnded: boolean,
  ) {
    this.indexes = new Map(messages.map(({ id }, index) => [id, index]));
  }

  violationIn(responses: readonly HttpResponse[]): string | undefined {
    for (const response of responses) {
      const index = this.indexes.get(response.headers.get('x-request-id') ?? '');
      const message = index === undefined ? undefined : this.messages[index];
      const violation =
        message?.expected === undefined ? this.stray(response) : this.answered(message, index!, response);
      if (violation !== undefined) return violation;
    }
    return undefined;
  }

  /** The missing responses after the service has closed the connection. */
  missing(last: HttpResponse | undefined): string | undefined {
    const next = this.messages[this.position];
    if (next?.expected === undefined || last?.headers.get('connection') === 'close') return undefined;
    return `There is no response to ${next.id}, though the connection was not said to close`;
  }

  private answered(message: Message, index: number, { status }: HttpResponse): string | undefined {
    const { id, expected } = message;
    const skipped = this.messages.slice(this.position, index);
    const isTainted = skipped.length > 0;
    if (index < this.position && !this.isRepeated(id)) return `${id} was answered twice or out of order`;
    if (isTainted && skipped[0]!.expected !== undefined) return `There is no response to ${skipped[0]!.id}`;
    if (!isTainted && !this.isAllowed(message, status)) {
      return `${id} was answered with ${status} instead of ${expected!.join(' or ')}`;
    }
    this.position = Math.max(this.position, index + 1);
    this.strays = 0;
    return undefined;
  }

  private isAllowed({ expected, isUnfinished = false }: Message, status: number): boolean {
    if (status === 503 || expected!.includes(status)) return true;
    return status === 400 && isUnfinished && this.clientEnded;
  }

  private stray({ status }: HttpResponse): string | undefined {
    const rest = this.messages.slice(this.position);
    if (rest[0] === undefined || rest[0].expected !== undefined) return `A response ${status} belongs to no request`;
    this.strays += 1;
    const requests = rest.reduce((sum, { bytes }) => sum + bytes.split(/HTTP|\n/i).length, 0);
    return this.strays > requests ? `${this.strays} responses to at most ${requests} requests` : undefined;
  }

  /** A mutation may have copied the id into another message. */
  private isRepeated(id: string): boolean {
    return this.messages.some((message) => message.id !== id && message.bytes.includes(id));
  }
}
