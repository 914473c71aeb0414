import { expectRejected, expectStatus, type ResourceResponse } from './checked-client.js';
import type { Body } from './resource-contract.js';
import type { ResourceUnderTest } from './resource-under-test.js';
import { MALFORMED, NOT_OBJECTS, RIGHT_TYPES, STRUCTURES, type, UNKNOWN, WRONG_TYPES } from './wrong-bodies.js';

/** Largest body in bytes. */
const LIMIT = 16 * 1024;

/** Tests the bodies that POST, PUT and PATCH accept or reject, and their errors. */
export function describeBodies(resource: ResourceUnderTest): void {
  const { create, replace, patch, wrong } = resource.contract;
  const bodies = { POST: create, PUT: replace, PATCH: patch };
  const writes = Object.entries(bodies);
  const properties = Object.keys(create);
  const methodsWith = (name: string): typeof writes =>
    writes.filter(([method]) => method === 'POST' || name in replace);
  /** One of these methods: cases of one kind take turns. */
  const turn = (methods: typeof writes, index: number): typeof writes => [methods[index % methods.length]!];

  const withJson = (body: Body, property: string): string => {
    const others = JSON.stringify(body).slice(1, -1);
    return `{${[others, property].filter((part) => part !== '').join(',')}}`;
  };

  const { pointer, value: bad } = wrong.find((each) => each.pointer.split('/').length === 2)!;
  const twice = pointer.slice(1);
  const withTwo = (first: unknown, last: unknown): string => {
    const { [twice]: _, ...others } = create;
    const name = JSON.stringify(twice);
    return withJson(others, `${name}:${JSON.stringify(first)},${name}:${JSON.stringify(last)}`);
  };

  resource.describeUnchanged('a body', (record) => {
    const send = (method: string, body: unknown, headers?: Record<string, string>): Promise<ResourceResponse> =>
      resource.request(method, method === 'POST' ? resource.path : record(), { body, headers });

    /** Sends a body with these methods, and expects 400 with a pointer to the property or below it. */
    async function expectPointer(
      expected: string,
      bodyOf: (body: Body) => unknown,
      methods = writes,
      isJson = false,
    ): Promise<void> {
      for (const [method, body] of methods) {
        const response = await send(method, bodyOf(body));
        expectRejected(response, 400, 'INVALID_REQUEST');
        const pointers = response.body.details.map((detail: { pointer: string }) => detail.pointer);
        const outside = pointers.filter((each: string) => !isJson || !each.startsWith(`${expected}/`));
        expect([response.request, ...outside]).toEqual([
          response.request,
          ...(isJson && outside.length === 0 ? [] : [expected]),
        ]);
      }
    }

    it.each(MALFORMED)('that is %s makes POST, PUT and PATCH 400, without details', async (_what, malformed) => {
      for (const [method, body] of writes) {
        const response = await send(method, malformed(JSON.stringify(body)));
        expectRejected(response, 400, 'MALFORMED_JSON');
        expect(response.body).not.toHaveProperty('details');
      }
    });

    it.each(NOT_OBJECTS)('that is %s makes POST, PUT and PATCH 400, with a pointer to the whole body', (json) =>
      expectPointer('', () => json),
    );

    it.each(UNKNOWN)('with %s makes POST, PUT and PATCH 400, with the pointer', (_what, property, unknown) =>
      expectPointer(unknown, (body) => withJson(body, property)),
    );

    it('with a property in capitals makes POST, PUT and PATCH 400, with the pointer', async () => {
      const capitals = Object.keys(patch)[0]!.toUpperCase();
      await expectPointer(`/${capitals}`, (body) => ({ ...body, [capitals]: 'x' }));
    });

    it('whose properties are in __proto__ makes POST and PUT 400', async () => {
      for (const method of ['POST', 'PUT'] as const) {
        const response = await send(method, `{"__proto__":${JSON.stringify(bodies[method])}}`);
        expectRejected(response, 400, 'INVALID_REQUEST');
      }
    });

    const names = [...new Set(wrong.map((each) => each.pointer.split('/')[1]!))];
    it.each(names)('with a wrong %s is 400, with the pointer; the document agrees', async (name) => {
      const values = wrong.filter((each) => each.pointer.split('/')[1] === name);
      for (const [index, { pointer: place, value, isBeyondSchema }] of values.entries()) {
        const bodyOf = (body: Body): Body => ({ ...body, [name]: value });
        const methods = index === 0 ? methodsWith(name) : turn(methodsWith(name), index);
        await expectPointer(place, bodyOf, methods);
        if (isBeyondSchema) continue;
        for (const [method, body] of methods) {
          const template = method === 'POST' ? resource.path : `${resource.path}/{id}`;
          const isValid = resource.document.isValid(resource.document.bodySchema(method, template), bodyOf(body));
          expect([method, name, value, { isValid }]).toEqual([method, name, value, { isValid: false }]);
        }
      }
    });

    it.each(STRUCTURES)('with %s for a property is 400, with the pointer', async (_what, json) => {
      for (const [index, name] of properties.entries()) {
        const value = `${JSON.stringify(name)}:${json(JSON.stringify(create[name]))}`;
        const bodyOf = ({ [name]: _, ...others }: Body): string => withJson(others, value);
        await expectPointer(`/${name}`, bodyOf, turn(methodsWith(name), index), typeof create[name] === 'object');
      }
    });

    it('without a required property, or with null for it, is 400 with the pointer', async () => {
      const { required } = resource.document.resolve(resource.document.bodySchema('post', resource.path));
      for (const name of required as string[]) {
        const without = ({ [name]: _, ...others }: Body): Body => others;
        const needed = methodsWith(name).filter(([method]) => method !== 'PATCH');
        await expectPointer(`/${name}`, without, needed);
        await expectPointer(`/${name}`, (body) => ({ ...body, [name]: null }), methodsWith(name));
      }
    });

    it('with a property of the record that PUT does not take makes PUT and PATCH 400, with the pointer', async () => {
      const changes = writes.filter(([method]) => method !== 'POST');
      for (const name of properties.filter((property) => !(property in replace))) {
        await expectPointer(`/${name}`, (body) => ({ ...body, [name]: create[name] }), changes);
      }
    });

    it('with a property that the service sets makes POST, PUT and PATCH 400, with the pointer', async () => {
      const { body } = await resource.get(record());
      for (const [name, value] of Object.entries(resource.ofService(body))) {
        await expectPointer(`/${name}`, (sent) => ({ ...sent, [name]: value }));
      }
    });

    it('without any property makes POST 400, with a pointer for each that is required', async () => {
      const { required } = resource.document.resolve(resource.document.bodySchema('post', resource.path));
      const response = await resource.post({});
      expectRejected(response, 400, 'INVALID_REQUEST');
      const pointers = response.body.details.map((detail: { pointer: string }) => detail.pointer);
      expect(pointers.sort()).toEqual((required as string[]).map((name) => `/${name}`).sort());
    });

    it(`with ${twice} twice is 400 if the last value is wrong`, async () => {
      expectRejected(await resource.post(withTwo(create[twice], bad)), 400, 'INVALID_REQUEST');
    });

    it.each(WRONG_TYPES)('of another type makes POST, PUT and PATCH 415: %s', async (_what, headers) => {
      for (const [method, body] of writes) {
        expectRejected(await send(method, body, headers), 415, 'UNSUPPORTED_MEDIA_TYPE');
      }
    });

    it('of application/merge-patch+json makes POST and PUT 415, and a 415 to PATCH names the accepted types', async () => {
      for (const method of ['POST', 'PUT'] as const) {
        const response = await send(method, bodies[method], type('application/merge-patch+json'));
        expectRejected(response, 415, 'UNSUPPORTED_MEDIA_TYPE');
      }
      const { headers } = await send('PATCH', patch, type('text/plain'));
      expect(headers.get('accept-patch')).toBe('application/json, application/merge-patch+json');
    });

    it('of more than 16 KiB makes POST, PUT and PATCH 413, whatever its type', async () => {
      for (const [method, body] of writes) {
        const long = JSON.stringify(body).padEnd(LIMIT + 1);
        expectRejected(await send(method, long), 413, 'PAYLOAD_TOO_LARGE');
        expectRejected(await send(method, long, type('text/plain')), 413, 'PAYLOAD_TOO_LARGE');
      }
    });
  });

  describe('a body', () => {
    beforeEach(() => resource.empty());

    it.each<[string, (json: string) => string]>([
      ['of exactly 16 KiB', (json) => json + ' '.repeat(LIMIT - Buffer.byteLength(json))],
      ['with blanks around it', (json) => ` \r\n\t${json} \n`],
      [
        'with escapes',
        (json) => json.replace(/"([a-z])/i, (_, first: string) => `"\\u00${first.charCodeAt(0).toString(16)}`),
      ],
      [`with ${twice} twice, of which the last is right,`, () => withTwo(bad, create[twice])],
    ])('%s is stored by POST like the body without it', async (_what, bodyOf) => {
      const stored = await resource.post(bodyOf(JSON.stringify(create)));
      expectStatus(stored, 201);
      expect(stored.body).toEqual({ id: stored.body.id, ...create, ...resource.ofService(stored.body) });
    });

    it.each(RIGHT_TYPES)('with %s is stored by POST', async (_what, headers) => {
      expectStatus(await resource.post(create, headers), 201);
    });
  });
}
