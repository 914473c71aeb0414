import { STATUS_CODES } from 'node:http';
import type { HttpResponse } from '../support/http-response.js';

/** Statuses of HTTP itself on any path. The OpenAPI document has the statuses of operations. */
const HTTP_STATUSES = [400, 404, 405, 408, 411, 413, 414, 415, 417, 431, 501, 503, 505];
const SERVER_ERRORS = new Set([501, 503, 505, 507]);
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
const BODY_FIELDS = ['statusCode', 'error', 'message', 'errorCode', 'requestId', 'details'];

/** Rules for every response. */
export class ResponseRules {
  private constructor(private readonly statuses: ReadonlySet<number>) {}

  /** Reads the documented statuses of the service. */
  static async of(service: { readonly url: string }): Promise<ResponseRules> {
    const response = await fetch(`${service.url}/openapi.json`);
    const { paths } = (await response.json()) as { paths: Record<string, Record<string, { responses?: object }>> };
    const operations = Object.values(paths).flatMap((path) => Object.values(path));
    const documented = operations.flatMap(({ responses = {} }) => Object.keys(responses)).filter(Number);
    return new ResponseRules(new Set([...documented.map(Number), ...HTTP_STATUSES]));
  }

  /** The error of a response; `undefined` if there is none. */
  violation(response: HttpResponse): string | undefined {
    const { status, headers } = response;
    if (status === 100) return undefined;
    if (!this.statuses.has(status)) return `The status ${status} is not documented`;
    if (status >= 500 && !SERVER_ERRORS.has(status)) return `The service failed with ${status}`;
    if (!REQUEST_ID.test(headers.get('x-request-id') ?? '')) return `A response ${status} has no X-Request-Id`;
    if (headers.get('x-content-type-options') !== 'nosniff') return `A response ${status} has no nosniff`;
    if (headers.has('server') || headers.has('x-powered-by')) return 'A response names its server';
    return status < 400 ? undefined : wrongError(response);
  }
}

/** Describes how an error differs from the common shape. A response to HEAD has only header fields. */
function wrongError({ status, headers, content }: HttpResponse): string | undefined {
  if (headers.get('cache-control') !== 'no-store') return `An error ${status} may be cached`;
  if (!/^application\/json(; charset=utf-8)?$/.test(headers.get('content-type') ?? '')) {
    return `An error ${status} has the type ${headers.get('content-type')}`;
  }
  if (content.length === 0) return undefined;
  const body = parsed(content);
  if (body === undefined) return `An error ${status} is not JSON: ${content.toString('latin1', 0, 200)}`;
  const right =
    body['statusCode'] === status &&
    body['error'] === STATUS_CODES[status] &&
    typeof body['message'] === 'string' &&
    body['message'] !== '' &&
    /^[A-Z][A-Z0-9_]*$/.test(String(body['errorCode'])) &&
    body['requestId'] === headers.get('x-request-id') &&
    Object.keys(body).every((name) => BODY_FIELDS.includes(name));
  return right ? undefined : `An error ${status} has another shape: ${JSON.stringify(body).slice(0, 300)}`;
}

function parsed(content: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(content.toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
