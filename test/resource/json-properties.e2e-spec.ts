import { DataSource } from 'typeorm';
import { IdFilter, ListQueryOf } from '../../src/resource/lists/list-query.js';
import { CreateSamples1790000500000 } from '../samples/create-samples.js';
import { sampleBody } from '../samples/sample-body.js';
import { SAMPLE } from '../samples/sample.entity.js';
import { SamplesModule } from '../samples/samples.module.js';
import { engineInUse } from '../support/engine.js';
import { type Answer, Client, COOKIE, sharedService, startService } from '../support/service.js';

const ADDRESS = {
  street: 'Rue "Ø" \\ 🍪\u2028\n',
  zip: 7,
  since: '2026-01-31T13:00:00+01:00',
  point: { east: 1.5, north: -0.25 },
};
const STORED = { ...ADDRESS, since: '2026-01-31T12:00:00.000Z' };

// `describeResource` tests wrong values.
describe(`a property that is JSON (${engineInUse()})`, () => {
  const { service } = sharedService({}, [SamplesModule], [new CreateSamples1790000500000()]);
  const client = Client.of(service, { scope: 'cookies:write samples:read samples:write' });

  beforeAll(() => client.post(COOKIE));

  const post = (changes: object = {}): Promise<Answer> =>
    client.request('POST', '/samples', { body: sampleBody({ address: ADDRESS, ...changes }) });
  const textsOf = async (id: string): Promise<Record<string, unknown>> =>
    (await service.app.get(DataSource).query(`SELECT address, delivery FROM samples WHERE id = '${id}'`))[0];

  it('POST, GET and the list return the object, and the column has its JSON', async () => {
    const { status, headers, body } = await post();
    expect({ status, body }).toMatchObject({ status: 201, body: { address: STORED, delivery: null } });
    expect((await client.get(headers.get('location')!)).body).toEqual(body);
    const [listed] = (await client.get('/samples?sort=-id&limit=1')).body;
    expect(JSON.stringify(listed)).toBe(JSON.stringify(body));
    expect(await textsOf(body.id)).toEqual({ address: JSON.stringify(STORED), delivery: null });
  });

  it('PATCH replaces the whole object, as the document says, and null removes an optional one', async () => {
    const { paths } = (await client.get('/openapi.json')).body;
    const descriptions = ['/samples/{id}', '/cookies/{id}'].map((path) => paths[path].patch.description);
    expect(descriptions.map((text) => text.includes('replaced as a whole'))).toEqual([true, false]);
    const { headers } = await post({ delivery: ADDRESS });
    const path = headers.get('location')!;
    const patch = (body: object): Promise<Answer> => client.request('PATCH', path, { body });
    expect((await patch({ address: { street: 'x' } })).status).toBe(204);
    expect((await client.get(path)).body).toMatchObject({ address: { street: 'x' }, delivery: STORED });
    expect((await client.get(path)).body.address).toEqual({ street: 'x' });
    expect((await patch({ delivery: null })).status).toBe(204);
    expect((await client.get(path)).body.delivery).toBeNull();
  });

  it('PATCH and PUT with an equal value, in another order or with another offset, leave the ETag as it was', async () => {
    const { headers } = await post({ delivery: ADDRESS });
    const [path, etag] = [headers.get('location')!, headers.get('etag')];
    const reversed = Object.fromEntries(Object.entries(STORED).reverse());
    await client.request('PATCH', path, { body: { address: reversed, delivery: ADDRESS } });
    expect((await client.get(path)).headers.get('etag')).toBe(etag);
  });

  it('the document refers to the class of the DTO, and a nullable one may be null', async () => {
    const { components } = (await (await fetch(`${service.url}/openapi.json`)).json()) as any;
    const $ref = '#/components/schemas/SampleAddressDto';
    const { address, delivery } = components.schemas.CreateSampleDto.properties;
    expect(address).toEqual({ $ref });
    expect(delivery).toEqual({
      description: 'Where it goes',
      oneOf: [{ $ref }, { type: 'string', nullable: true, enum: [null] }],
    });
  });

  it('the start rejects a list that filters by it', async () => {
    class ListByAddressQuery extends ListQueryOf(SAMPLE) {
      @IdFilter('Only those of this address.')
      address?: number[];
    }
    const start = startService({}, [SamplesModule], [new CreateSamples1790000500000()]);
    await expect(start).rejects.toThrow('The list of samples cannot be filtered by address, which is JSON');
    expect(ListByAddressQuery.name).toBe('ListByAddressQuery');
  });
});
