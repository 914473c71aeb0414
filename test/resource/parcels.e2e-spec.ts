import { Logger } from '@nestjs/common';
import { CreateParcels1790000200000 } from '../parcels/create-parcels.js';
import { ParcelsModule } from '../parcels/parcels.module.js';
import { Client, COOKIE, type Service, startService } from '../support/service.js';

const PARCEL = { customer: 'Ada "the first" 🍪', quantity: 12, status: 'open', cookieId: 1 } as const;
const modules = [ParcelsModule];
const migrations = [new CreateParcels1790000200000()];

describe('parcels beside cookies', () => {
  let service: Service;
  let client: Client;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    service = await startService({ LOG_LEVEL: 'silent' }, modules, migrations);
    client = await Client.of(service, { scope: 'cookies:read cookies:write parcels:read parcels:write' });
    for (let count = 0; count < 2; count++) await client.post(COOKIE);
  });

  afterAll(() => service.stop());

  const post = (body: object = PARCEL) => client.request('POST', '/parcels', { body });

  it('POST returns the properties in the order of their declaration', async () => {
    expect(Object.keys((await post()).body)).toEqual(['id', 'customer', 'quantity', 'status', 'cookieId']);
  });

  it('GET of the list returns 304 until a parcel changes, whatever cookies do', async () => {
    const etag = (await client.get('/parcels')).headers.get('etag')!;
    await client.post(COOKIE);
    expect((await client.get('/parcels', { 'if-none-match': etag })).status).toBe(304);
    await post();
    expect((await client.get('/parcels', { 'if-none-match': etag })).status).toBe(200);
  });

  it('GET of the list returns 400 that names the parameters in the order of the document', async () => {
    const unknown = await client.get('/parcels?colour=red');
    expect(unknown.body.message).toBe('colour: is not known here; known are limit, after, sort, status, cookieId');
    const { body } = await client.get('/parcels?cookieId=0&status=lost&after=x&limit=0');
    const names = body.details.map(({ parameter }: { parameter: string }) => parameter);
    expect(names).toEqual(['limit', 'after', 'status', 'cookieId']);
  });

  it('POST returns 507 beyond 50 parcels, which is the capacity of their module', async () => {
    const stored = Number((await client.get('/parcels?limit=1')).headers.get('x-total-count'));
    const answers = await Promise.all(Array.from({ length: 64 - stored }, () => post()));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(50 - stored);
    expect(statuses.filter((status) => status === 507)).toHaveLength(14);
  });

  it('GET returns 404 with the code and the words of the resource', async () => {
    const error = { errorCode: 'PARCEL_NOT_FOUND', message: 'There is no parcel 777' };
    expect(await client.get('/parcels/777')).toMatchObject({ status: 404, body: error });
  });

  it('the document names the operations of parcels', async () => {
    const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as any;
    const operations = Object.values<any>(paths['/parcels']).concat(Object.values(paths['/parcels/{id}']));
    expect(operations.map(({ operationId }) => operationId)).toEqual([
      'listParcels',
      ...['createParcel', 'getParcel', 'replaceParcel', 'patchParcel', 'deleteParcel'],
    ]);
  });
});
