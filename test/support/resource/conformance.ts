import { DataSource } from 'typeorm';
import { withoutRequestId } from '../expect-error.js';
import { type RequestOptions, token } from '../service.js';
import { type CheckedClient, expectStatus, type ResourceResponse } from './checked-client.js';
import type { Body } from './resource-contract.js';
import { MISSING, type ResourceUnderTest } from './resource-under-test.js';

type Operation = readonly [method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string];

/** Statuses of the platform for any resource. `openapi.e2e-spec.ts` and other specs test them. */
const OF_THE_PLATFORM = ['408', '417', '429', '431', '500', '501', '503', '505'];

/** Statuses of constraints, rules, referring records and keys, which other tests cover. */
const OF_THE_FEATURE = ['409', '422'];

/** Statuses of the platform by method: 413 for GET needs a chunked body, and 507 is a full volume except for POST. */
const OF_THE_PLATFORM_BY: Partial<Record<string, string>> = { GET: '413', PUT: '507', PATCH: '507', DELETE: '507' };

/** Errors that need a full volume, a limit of requests or invalid HTTP. */
const ERRORS_OF_THE_PLATFORM = ['DISK_FULL', 'RATE_LIMITED', 'BAD_REQUEST'];

/**
 * Tests that the document has exactly the responses of the resource. All other tests compare their responses with it,
 * too.
 */
export function describeConformance(resource: ResourceUnderTest): void {
  const { path, contract } = resource;
  const one = `${path}/{id}`;
  const references = Object.entries(contract.references);
  const operations: readonly Operation[] = [
    ['GET', path],
    ['POST', path],
    ['GET', one],
    ['PUT', one],
    ['PATCH', one],
    ['DELETE', one],
  ];
  const { create, replace, patch } = contract;
  const bodies: Partial<Record<string, Body>> = { POST: create, PUT: replace, PATCH: patch };
  const withBody = operations.filter(([method]) => bodies[method] !== undefined);

  describe('the OpenAPI document', () => {
    const seen = new Map<string, ResourceResponse[]>();
    let record: string;

    /** Sends a valid request of the operation with the given changes. */
    async function drive(
      [method, template]: Operation,
      { id, query = '', ...options }: RequestOptions & { readonly id?: string; readonly query?: string } = {},
      client: CheckedClient = resource.client,
    ): Promise<void> {
      const target = id === undefined ? template.replace(one, record) : template.replace('{id}', id);
      const body = resource.next(bodies[method]);
      const response = await client.request(method, target + query, { body, ...options });
      const key = `${method} ${template}`;
      seen.set(key, [...(seen.get(key) ?? []), response]);
    }

    beforeAll(async () => {
      await resource.empty();
      record = (await resource.create()).path;
      const expired = { authorization: `Bearer ${await token({ scope: 'none', expiresIn: -60 })}` };
      for (const operation of operations) await driveErrors(operation, expired);
      for (const query of ['?limit=1', '?limit=0', '?colour=red']) await drive(['GET', path], { query });
      await resource.withCapacity(1, () => drive(['POST', path]));
      await driveReferences();
      for (const operation of operations) await drive(operation);
      await resource.empty();
      for (const operation of operations.slice(2)) await drive(operation, { id: String(resource.idOf(path, 1)) });
    });

    async function driveErrors(operation: Operation, expired: Record<string, string>): Promise<void> {
      const [method, template] = operation;
      const isWrite = method !== 'GET';
      await drive(operation, {}, resource.stranger);
      await drive(operation, {}, resource.clientWith('none'));
      await drive(operation, { headers: expired });
      if (template === one) await drive(operation, { id: '0' });
      if (template === one || isWrite) await drive(operation, { query: '?limit=1' });
      if (isWrite) await drive(operation, { body: 'x'.repeat(16 * 1024 + 1) });
      if (method === 'POST') await drive(operation, { headers: { 'idempotency-key': 'not valid' } });
      else {
        await drive(operation, { headers: { 'if-match': '"another"' } });
        await drive(operation, { headers: { 'if-none-match': '*' } });
      }
      if (isWrite && method !== 'POST') await resource.requiringIfMatch(() => drive(operation));
      if (bodies[method] === undefined) return;
      await drive(operation, { headers: { 'content-type': 'text/plain' } });
      await drive(operation, { headers: { 'content-encoding': 'gzip' } });
      await drive(operation, { body: '' });
      for (const name of Object.keys(contract.create)) {
        await drive(operation, { body: { ...bodies[method], [name]: null } });
      }
    }

    async function driveReferences(): Promise<void> {
      for (const [name, parent] of references) {
        for (const operation of withBody) {
          const body = { ...resource.next(bodies[operation[0]]), [name]: resource.idOf(parent, MISSING) };
          await drive(operation, { body });
        }
      }
    }

    const responsesOf = ([method, template]: Operation): ResourceResponse[] => seen.get(`${method} ${template}`) ?? [];
    const describedBy = ([method, template]: Operation): [status: string, description: any][] =>
      Object.entries(resource.document.operation(method, template).responses);

    /** Statuses that depend on the resource. */
    const ofTheResource = (operation: Operation): [status: string, description: any][] => {
      const others = [...OF_THE_PLATFORM, ...OF_THE_FEATURE, OF_THE_PLATFORM_BY[operation[0]]];
      return describedBy(operation).filter(([status]) => !others.includes(status));
    };

    it.each(operations)('has %s %s, with a bearer token, and every status by its number', (...operation) => {
      const isOpen = operation[0] === 'GET' && resource.isPublic(operation[1]);
      expect(resource.document.operation(...operation).security).toEqual([...(isOpen ? [{}] : []), { bearer: [] }]);
      for (const [status] of describedBy(operation)) expect(status).toMatch(/^[2-5]\d\d$/);
    });

    it.each(operations)('has no status for %s %s that is not returned', (...operation) => {
      const returned = new Set(responsesOf(operation).map(({ status }) => String(status)));
      const statuses = ofTheResource(operation).map(([status]) => status);
      expect(statuses.filter((status) => !returned.has(status))).toEqual([]);
    });

    it.each(operations)('shows errors for %s %s that are really returned', (...operation) => {
      const real = responsesOf(operation).map(({ body }) => withoutRequestId(body));
      const shown = ofTheResource(operation)
        .flatMap(([, { content }]) => Object.values<any>(content?.['application/json']?.examples ?? {}))
        .filter(({ value }) => !ERRORS_OF_THE_PLATFORM.includes(value.errorCode))
        // SQLite does not report which of several references is missing.
        .filter(({ value }) => value.errorCode !== 'REFERENCE_NOT_FOUND' || references.length === 1);
      expect(shown).not.toEqual([]);
      for (const { value } of shown) expect(real).toContain(withoutRequestId(value));
    });

    it.each(operations)('has an example with every error code that %s %s returns', (...operation) => {
      const listed = resource.document.errorCodes(...operation);
      const returned = responsesOf(operation).flatMap(({ body }) => body?.errorCode ?? []);
      expect(listed).toEqual(expect.arrayContaining(returned));
    });

    it('has schemas that accept the stored bodies', () => {
      for (const operation of withBody) {
        const isValid = resource.document.isValid(resource.document.bodySchema(...operation), bodies[operation[0]]);
        expect([...operation, { isValid }]).toEqual([...operation, { isValid: true }]);
      }
    });

    it('has no defaults in the body of PATCH: clients that fill them in would reset stored values', () => {
      const { properties } = resource.document.resolve(resource.document.bodySchema('patch', one));
      expect(Object.keys(properties).filter((name) => 'default' in properties[name])).toEqual([]);
    });

    it('has no minimum and maximum of strings, which generated clients take for lengths', () => {
      const { properties } = resource.document.resolve(resource.document.bodySchema('post', path));
      const isLimited = ({ type, minimum, maximum }: any) => type === 'string' && (minimum ?? maximum) !== undefined;
      expect(Object.keys(properties).filter((name) => isLimited(properties[name]))).toEqual([]);
    });
  });

  it('the schema of the database is that of the entity', async () => {
    const { driver } = resource.service.app.get(DataSource);
    expect((await driver.createSchemaBuilder().log()).upQueries).toEqual([]);
  });

  it('each body of the contract changes each of its properties', async () => {
    await resource.empty();
    const { path: made, record } = await resource.create();
    const replaced = await resource.request('PUT', made, { body: contract.replace });
    expectStatus(replaced, 200);
    for (const [name, value] of Object.entries(contract.replace)) {
      if (!contract.ownReferences.includes(name)) expect(record).not.toHaveProperty(name, value);
    }
    for (const [name, value] of Object.entries(contract.patch)) expect(record).not.toHaveProperty(name, value);
  });
}
