import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OpenApiDocument } from '../support/openapi-document.js';
import { startService, temporaryFolder } from '../support/service.js';
import { breakingChanges } from './breaking-changes.js';

const FILE = 'docs/openapi.json';
const released = JSON.parse(readFileSync(join(import.meta.dirname, '../..', FILE), 'utf8'));

/** Breaking changes of the document, each with its expected report. */
const BREAKING: [report: string, change: (document: any) => void][] = [
  ['GET /cookies/{id} is gone: its clients get 404', ({ paths }) => delete paths['/cookies/{id}']],
  ['GET /cookies is gone: its clients get 404', ({ paths }) => delete paths['/cookies'].get],
  ['GET /cookies is called all, not listCookies: generated clients', (one) => (list(one).operationId = 'all')],
  ['GET /cookies needs other credentials: clients', (one) => (list(one).security = [{ key: [] }])],
  ['GET /cookies, query parameter limit is gone: clients', (one) => list(one).parameters.shift()],
  ['query parameter limit is required now: clients', (one) => (limit(one).required = true)],
  ['query parameter new is required now: clients', (one) => addParameter(one, true)],
  ['query parameter limit has the maximum 100, not 1000: clients', (one) => (limit(one).schema.maximum = 100)],
  ['POST /cookies, body application/json, wish has the minLength 2, not 1', (one) => (wish(one).minLength = 2)],
  ['wish has the type integer, not string: clients', (one) => (wish(one).type = 'integer')],
  ['wish has the pattern ^x$, not ', (one) => (wish(one).pattern = '^x$')],
  ['POST /cookies, body application/json is gone: clients', (one) => delete create(one).requestBody],
  ['POST /cookies, body application/json, wish is gone: clients', (one) => delete bodyOf(one).properties.wish],
  ['price is required now: clients that do not send it get 400', (one) => bodyOf(one).required.push('price')],
  ['flavor no longer accepts cinnamon: clients', (one) => flavors(one).pop()],
  ['response 200 application/json, items, flavor has as a new value lemon', (one) => flavors(one).push('lemon')],
  ['response 200 application/json, wish is gone: clients', (one) => delete recordOf(one).properties.wish],
  ['response 200 application/json, wish may be absent: clients', (one) => recordOf(one).required.pop()],
  [
    'response 200 application/json, wish may be null: clients',
    (one) => (recordOf(one).properties.wish.nullable = true),
  ],
  ['response 200 application/json, price is new where nothing was to come', (one) => addPrice(recordOf(one))],
  ['GET /cookies, response 304 is gone: clients', (one) => delete list(one).responses['304']],
  ['GET /cookies, response 202 is new: clients', (one) => (list(one).responses['202'] = {})],
  ['response 200, header Link is gone: clients', (one) => delete list(one).responses['200'].headers.Link],
  ['response 200, header ETag may be absent: clients', (one) => (one.components.headers.ETag.required = false)],
];

const COMPATIBLE: [name: string, change: (document: any) => void][] = [
  ['a new path', ({ paths }) => (paths['/cakes'] = paths['/cookies'])],
  ['a new parameter', (one) => addParameter(one, false)],
  ['a larger maximum', (one) => (limit(one).schema.maximum = 2000)],
  ['a limit of requests that is gone', (one) => delete wish(one).pattern],
  ['a new property of a body', (one) => addPrice(bodyOf(one))],
  ['a new property of an open response', (one) => addPrice(one.components.schemas.ErrorDto)],
  ['a narrower response', (one) => (recordOf(one).properties.wish.maxLength = 100)],
  ['a new error', (one) => (list(one).responses['410'] = {})],
  ['another description', (one) => (list(one).description = 'All cookies')],
];

const list = (document: any) => document.paths['/cookies'].get;
const create = (document: any) => document.paths['/cookies'].post;
const limit = (document: any) => list(document).parameters.find(({ name }: any) => name === 'limit');
const bodyOf = ({ components }: any) => components.schemas.CreateCookieDto;
const recordOf = ({ components }: any) => components.schemas.CookieDto;
const flavors = ({ components }: any) => components.schemas.CookieFlavor.enum;
const wish = (document: any) => bodyOf(document).properties.wish;
const addPrice = ({ properties }: any) => (properties.price = { type: 'integer' });

function addParameter(document: any, required: boolean): void {
  list(document).parameters.push({ name: 'new', in: 'query', required, schema: { type: 'string' } });
}

function changed(change: (document: any) => void): any {
  const copy = structuredClone(released);
  change(copy);
  return copy;
}

it('npm run openapi writes the document that GET /openapi.json returns', async () => {
  const file = join(temporaryFolder(), 'openapi.json');
  execFileSync(process.execPath, ['scripts/openapi.js', file]);
  await using service = await startService();
  const served = await fetch(`${service.url}/openapi.json`);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(await served.json());
});

describe(`the OpenAPI document beside that of the last release, ${FILE}`, () => {
  it('breaks no client', async () => {
    await using service = await startService();
    const { json } = await OpenApiDocument.of(service);
    const breaks = breakingChanges(released, json);
    if (breaks.length > 0)
      throw new Error([`${FILE} promises what the service no longer does:`, ...breaks, ADVICE].join('\n'));
    if (JSON.stringify(json) !== JSON.stringify(released)) {
      console.info(
        `The document differs from ${FILE} and breaks no client. \`npm run openapi\` renews the file for a release.`,
      );
    }
  });

  it.each(BREAKING)('reports: %s', (report, change) => {
    expect(breakingChanges(released, changed(change)).join('\n')).toContain(report);
  });

  it.each(COMPATIBLE)('accepts %s', (_name, change) => {
    expect(breakingChanges(released, changed(change))).toEqual([]);
  });
});

const ADVICE =
  'Take the change back, or make it compatible. Where clients must follow, raise the major version, tell them in CHANGELOG.md, ' +
  'and renew the file: npm run openapi';
