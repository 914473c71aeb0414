import { expectError } from '../expect-error.js';
import type { OpenApiDocument } from '../openapi-document.js';
import type { Answer, Client, RequestOptions } from '../service.js';

/** A response and its request, for the message of a failed test. */
export interface ResourceResponse extends Answer {
  /** Such as `DELETE /orders/7 (if-match: "x")`. */
  readonly request: string;
}

/** A client that compares every response of the resource with the OpenAPI document. */
export class CheckedClient {
  constructor(
    private readonly client: Client,
    private readonly document: OpenApiDocument,
    private readonly path: string,
  ) {}

  async request(method: string, path: string, options: RequestOptions = {}): Promise<ResourceResponse> {
    const answer = await this.client.request(method, path, options);
    const request = described(method, path, options);
    const operation = this.document.operation(method === 'HEAD' ? 'GET' : method, this.templateOf(path));
    if (operation !== undefined) this.check(request, answer, operation, method);
    return { ...answer, request };
  }

  get(path: string, headers?: Record<string, string>): Promise<ResourceResponse> {
    return this.request('GET', path, { headers });
  }

  private check(request: string, answer: Answer, operation: any, method: string): void {
    try {
      const description = operation.responses[answer.status];
      if (method === 'HEAD' && description !== undefined) this.document.expectFields(answer, description);
      else this.document.expectDescribed(answer, description);
    } catch (error) {
      const { message } = error as Error;
      throw new Error(`The OpenAPI document does not describe the ${answer.status} to ${request}:\n${message}`, {
        cause: error,
      });
    }
  }

  /** The path template of the document; unchanged for paths of other resources. */
  private templateOf(target: string): string {
    const path = target.split('?')[0]!;
    if (path === this.path) return path;
    const isRecord = path.startsWith(`${this.path}/`) && !path.slice(this.path.length + 1).includes('/');
    return isRecord ? `${this.path}/{id}` : '';
  }
}

/** The request in one line. */
function described(method: string, path: string, { headers = {}, body }: RequestOptions): string {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const sent = body instanceof Uint8Array ? `${body.length} bytes` : JSON.stringify(body);
  const line = [`${method} ${path}`, ...(fields.length > 0 ? [`(${fields.join(', ')})`] : []), sent ?? ''].join(' ');
  return line.length > 200 ? `${line.slice(0, 200)}…` : line.trimEnd();
}

/** Expects a status; a failure shows the body. */
export function expectStatus({ request, status, text }: ResourceResponse, expected: number): void {
  if (status !== expected) expect(`${request}: ${status} ${text}`).toBe(`${request}: ${expected}`);
}

/** Expects an error in the common shape. */
export function expectRejected(response: ResourceResponse, status: number, errorCode: string): void {
  const { request, body } = response;
  const found = { request, status: response.status, errorCode: body?.errorCode };
  expect(found).toEqual({ request, status, errorCode });
  expectError(response, status, errorCode);
}

/** Number of responses by status. */
export function tally(responses: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
