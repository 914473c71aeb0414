import { constant, indefinite, words } from '../names.js';
import { enumsOf, referencesOf } from '../resource.js';

/** @typedef {import('../fields.js').Field} Field */
/** @typedef {import('../resource.js').Resource} Resource */

/** @param {unknown} value */
const literal = (value) => JSON.stringify(value);

/** @param {Field[]} fields @param {(field: Field) => unknown} valueOf */
const body = (fields, valueOf) =>
  `{ ${fields.map((field) => `${field.name}: ${literal(valueOf(field))}`).join(', ')} }`;

/** @param {Resource} resource @param {readonly string[]} parents what its records need, in the order in which it is created */
export function spec({ singular, plural, fields }, parents) {
  const name = constant(singular);
  const references = referencesOf(fields);
  const [filter] = enumsOf(fields);
  return `
    import { Logger } from '@nestjs/common';
    import { DataSource } from 'typeorm';
    import { engineInUse } from './support/engine.js';
    import { type Answer, Client, type Service, startService } from './support/service.js';
    ${parents.length > 0 ? "import { exampleBody } from './support/resource/example-body.js';" : ''}

    const SCOPE = ${literal([plural, ...parents].flatMap((each) => [`${each}:read`, `${each}:write`]).join(' '))};
    const ${name} = ${body(fields, ({ sample }) => sample)};
    const OTHER = ${body(fields, ({ other }) => other)};

    describe(\`${words(plural)} (\${engineInUse()})\`, () => {
      let service: Service;
      let client: Client;

      beforeAll(async () => {
        Logger.overrideLogger(false);
        service = await startService({ LOG_LEVEL: 'silent' });
        client = await Client.of(service, { scope: SCOPE });
        ${parents.length > 0 ? parentsMade(parents) : ''}
      });

      afterAll(() => service.stop());

      const post = (values: object = {}): Promise<Answer> =>
        client.request('POST', '/${plural}', { body: { ...${name}, ...values } });

      /** The path of a new record. */
      const posted = async (): Promise<string> => (await post()).headers.get('location')!;

      it('have the schema that their entity describes', async () => {
        const { driver } = service.app.get(DataSource);
        expect((await driver.createSchemaBuilder().log()).upQueries).toEqual([]);
      });

      it('POST returns 201 with Location and ETag, and GET returns the same record, alone and in the list', async () => {
        const { status, body, headers } = await post();
        expect({ status, body }).toEqual({ status: 201, body: { id: body.id, ...${name} } });
        expect(headers.get('location')).toBe(\`/${plural}/\${body.id}\`);
        const got = await client.get(\`/${plural}/\${body.id}\`);
        expect(got).toMatchObject({ status: 200, body });
        expect(got.headers.get('etag')).toBe(headers.get('etag'));
        const list = await client.get('/${plural}');
        expect([list.status, list.body.at(-1)]).toEqual([200, body]);
        expect((await client.get('/${plural}', { 'if-none-match': list.headers.get('etag')! })).status).toBe(304);
      });

      it.each<[string, string, object]>([
        ${invalid(fields)}
        ['a property that it does not have', '/unknown', { unknown: 1 }],
      ])('POST and PATCH return 400 with the pointer for %s', async (_name, pointer, values) => {
        const rejected = { status: 400, body: { errorCode: 'INVALID_REQUEST', details: [{ pointer }] } };
        expect(await post(values)).toMatchObject(rejected);
        expect(await client.request('PATCH', await posted(), { body: values })).toMatchObject(rejected);
      });

      it('PUT and PATCH change the record and its ETag; with an old ETag in If-Match they return 412', async () => {
        const { body: created, headers } = await post();
        const [path, old] = [headers.get('location')!, headers.get('etag')!];
        const { status, body } = await client.request('PUT', path, { body: OTHER });
        expect({ status, body }).toEqual({ status: 200, body: { id: created.id, ...OTHER } });
        const patched = await client.request('PATCH', path, { body: ${name} });
        expect([patched.status, patched.headers.get('etag') === old]).toEqual([204, false]);
        expect((await client.get(path)).body).toEqual(created);
        for (const method of ['PUT', 'PATCH']) {
          const stale = await client.request(method, path, { body: OTHER, headers: { 'if-match': old } });
          expect(stale.status).toBe(412);
        }
      });

      it('DELETE returns 204, and then every request for ${indefinite(singular)} 404', async () => {
        const path = await posted();
        expect((await client.request('DELETE', path)).status).toBe(204);
        const error = { status: 404, body: { errorCode: '${name}_NOT_FOUND' } };
        expect(await client.get(path)).toMatchObject(error);
        expect(await client.request('PUT', path, { body: OTHER })).toMatchObject(error);
        expect(await client.request('DELETE', path)).toMatchObject(error);
      });

      it('GET with limit returns pages${filter ? ', also of those that a filter selects' : ''}', async () => {
        const first = (await post()).body.id;
        await post(${filter ? body([filter], ({ other }) => other) : ''});
        await post();
        const page = \`/${plural}?limit=2&after=\${first - 1}\`;
        const { body, headers } = await client.get(page);
        expect(body.map(({ id }: { id: number }) => id)).toEqual([first, first + 1]);
        expect(headers.get('link')).toContain(\`after=\${first + 1}>; rel="next"\`);
        ${filter ? `expect((await client.get(\`\${page}&${filter.name}=${String(filter.other)}\`)).body).toHaveLength(1);` : ''}
      });

      ${nullable(plural, fields)}
      ${references.map((reference) => referenceTest(plural, reference, references.length === 1)).join('\n')}

      it('POST returns 507 when as many are stored as may be', async () => {
        const { manager } = service.app.get(DataSource);
        await manager.query("UPDATE storage SET used = used + 1000000000 WHERE resource = '${plural}'");
        expect(await post()).toMatchObject({ status: 507, body: { errorCode: 'STORAGE_FULL' } });
        await manager.query("UPDATE storage SET used = used - 1000000000 WHERE resource = '${plural}'");
        expect((await post()).status).toBe(201);
      });

      it('every request without the scopes of ${words(plural)} returns 403', async () => {
        const stranger = await Client.of(service, { scope: 'other:read other:write' });
        expect((await stranger.get('/${plural}')).status).toBe(403);
        expect((await stranger.request('POST', '/${plural}', { body: ${name} })).status).toBe(403);
      });
    });`;
}

/** Each twice, so that a reference can change. @param {readonly string[]} parents */
function parentsMade(parents) {
  return `for (const path of ${literal(parents.map((parent) => `/${parent}`))}) {
      const body = await exampleBody(service, path);
      for (let count = 0; count < 2; count++) expect((await client.request('POST', path, { body })).status).toBe(201);
    }`;
}

/** @param {Field[]} fields */
function invalid(fields) {
  const rows = fields.flatMap(({ name, invalid: values }) =>
    values.map(([title, value]) => [`${name}: ${title}`, `/${name}`, value, name]),
  );
  const source = rows.map(([title, pointer, value, name]) => {
    const long = typeof value === 'string' && /^x{30,}$/.test(value) ? `'x'.repeat(${value.length})` : literal(value);
    return `[${literal(title)}, '${String(pointer)}', { ${String(name)}: ${long} }],`;
  });
  return source.join('\n');
}

/** @param {string} plural @param {Field[]} fields */
function nullable(plural, fields) {
  const optional = fields.filter(({ isOptional }) => isOptional);
  const required = fields.filter(({ isOptional }) => !isOptional);
  if (optional.length === 0) return '';
  return `
    it('what may be absent is null: after POST and PUT without it, and after PATCH with null', async () => {
      const required = ${body(required, ({ sample }) => sample)};
      const absent = ${body(optional, () => null)};
      const { body: created, headers } = await client.request('POST', '/${plural}', { body: required });
      expect(created).toEqual({ id: created.id, ...required, ...absent });
      const path = headers.get('location')!;
      await client.request('PATCH', path, { body: OTHER });
      expect((await client.request('PUT', path, { body: required })).body).toEqual(created);
      await client.request('PATCH', path, { body: OTHER });
      expect((await client.request('PATCH', path, { body: absent })).status).toBe(204);
      expect((await client.get(path)).body).toEqual({ id: created.id, ...OTHER, ...absent });
    });
`;
}

/** @param {string} plural @param {Field} field @param {boolean} isOnly of several, SQLite does not say which one it was */
function referenceTest(plural, { name, reference }, isOnly) {
  const details = isOnly ? `, details: [{ pointer: '/${name}' }]` : '';
  return `
    it('POST and PATCH return 400 when ${name} names no record; DELETE of the record that is named returns 409', async () => {
      const missing = { status: 400, body: { errorCode: 'REFERENCE_NOT_FOUND'${details} } };
      expect(await post({ ${name}: 99 })).toMatchObject(missing);
      expect(await client.request('PATCH', await posted(), { body: { ${name}: 99 } })).toMatchObject(missing);
      const referenced = { status: 409, body: { errorCode: 'STILL_REFERENCED' } };
      expect(await client.request('DELETE', '/${reference}/1')).toMatchObject(referenced);
      const selected = await client.get('/${plural}?${name}=1');
      expect(selected.body.at(-1)).toMatchObject({ ${name}: 1 });
    });
`;
}

/** The same on PostgreSQL. @param {Resource} resource */
export const specOnPostgres = ({ plural }) => `
  import { usePostgres } from '../support/engine.js';

  usePostgres();
  await import('../${plural}.e2e-spec.js');
`;
