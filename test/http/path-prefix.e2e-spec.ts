import { ConsoleLogger, Module, VersioningType } from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import { Config } from '../../src/config/config.js';
import { openApiDocument } from '../../src/openapi/document.js';
import { logStartupBanner } from '../../src/server/startup-banner.js';
import { HttpClient, jsonFields } from '../support/http-client.js';
import { Client, COOKIE, sharedService, startService, token } from '../support/service.js';

/** Sets a prefix before the end of `createApp`, as teams do there. */
@Module({})
class PrefixModule {
  constructor(config: ApplicationConfig) {
    config.setGlobalPrefix('store');
  }
}

it('GET /cookies returns 200 in a test, although the application sets a global prefix', async () => {
  await using service = await startService({}, [PrefixModule]);
  expect((await Client.of(service).get('/cookies')).status).toBe(200);
});

it('the start with a global prefix logs its address, and the document has the prefix in its paths', async () => {
  await using service = await startService({ HOST: '::1' }, [], [], undefined, (each) => each.setGlobalPrefix('v1'));
  const { app, url, managementUrl } = service;
  expect(new URL(managementUrl).hostname).toBe('[::1]');
  const logged: unknown[] = [];
  app.useLogger(Object.assign(new ConsoleLogger(), { log: (message: unknown) => logged.push(message) }));
  await logStartupBanner(app, app.get(Config, { strict: false }), 'http://127.0.0.1:3001');
  expect(logged).toContain(`Cookies:     ${url}/v1/cookies`);
  const paths = Object.keys(openApiDocument(app).paths);
  expect(paths).toContain('/v1/cookies');
  expect(paths.filter((path) => !path.startsWith('/v1/'))).toEqual([]);
});

describe.each<[what: string, prefix: string, path: string]>([
  ['a global prefix', 'api', '/api/v1/cookies'],
  ['a global prefix with a parameter', 'shops/:shop', '/shops/7/v1/cookies'],
])('with %s and versions in paths', (_what, prefix, path) => {
  const { service, client } = sharedService({}, [], [], undefined, (app) =>
    app.setGlobalPrefix(prefix).enableVersioning({ type: VersioningType.URI, defaultVersion: '1' }),
  );

  it('POST returns the Location of the new record, and the list the Link of its next page', async () => {
    const post = () => client.request('POST', `${path}?`, { body: COOKIE });
    const location = (await post()).headers.get('location')!;
    expect(location).toBe(`${path}/1`);
    expect(await client.get(location)).toMatchObject({ status: 200, body: { id: 1, ...COOKIE } });
    using http = new HttpClient(service.url);
    const whole = await http.send('POST', service.url + path, jsonFields(await token(), true), JSON.stringify(COOKIE));
    expect(whole.headers.get('location')).toBe(`${path}/2`);
    const link = (await client.get(`${path}?limit=1`)).headers.get('link')!;
    expect((await client.get(/<(.+)>/.exec(link)![1]!)).body).toEqual([{ id: 2, ...COOKIE }]);
  });
});
