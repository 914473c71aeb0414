import { Client, COOKIE, type Service, startService } from './service.js';

describe('cookies', () => {
  let service: Service;
  let client: Client;

  beforeEach(async () => {
    service = await startService();
    client = await Client.of(service);
  });

  afterEach(() => service.stop());

  it('stores a cookie and gives it back', async () => {
    const created = await client.post(COOKIE);
    expect(created.status).toBe(201);
    expect(created.body).toEqual({ id: 1, ...COOKIE });
    expect(created.headers.get('location')).toBe('/cookies/1');
    const read = await client.get('/cookies/1');
    expect(read.status).toBe(200);
    expect(read.body).toEqual(created.body);
    expect(read.headers.get('etag')).toBe(created.headers.get('etag'));
  });
});
