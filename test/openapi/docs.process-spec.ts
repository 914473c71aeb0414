import type { Locator, Page } from 'playwright-core';
import { describeInBrowser, launchBrowser } from '../support/browser.js';
import { COOKIE, sharedService, token } from '../support/service.js';
import { shared } from '../support/shared.js';

describeInBrowser('the docs page', () => {
  const { service, client } = sharedService();
  const browser = shared(launchBrowser);
  let page: Page;
  const requests: string[] = [];
  const complaints: string[] = [];

  beforeEach(async () => {
    const context = await browser.newContext();
    requests.length = 0;
    complaints.length = 0;
    context.on('request', (request) => requests.push(request.url()));
    context.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    context.on('weberror', (error) => complaints.push(String(error.error())));
    page = await context.newPage();
    await page.goto(`${service.url}/docs`);
  });

  afterEach(() => page?.context().close());

  it('creates a cookie with a token that the reader enters, and lists all with the filled-in parameters', async () => {
    await authorize(await token());
    const operation = await tryOut('createCookie');
    await operation.getByRole('button', { name: 'Execute' }).click();
    expect(await operation.locator('.live-responses-table .response-col_status').last().innerText()).toMatch(/^201/);
    const created = await answerOf(operation);
    expect(created).toEqual({ id: expect.any(Number), ...COOKIE });
    expect((await client.get(`/cookies/${created.id}`)).body).toEqual(created);
    await client.post(COOKIE);
    const list = await tryOut('listCookies');
    await list.getByRole('button', { name: 'Execute' }).click();
    expect(await answerOf(list)).toEqual((await client.get('/cookies')).body);
    expectNothingFromElsewhere();
  });

  it('shows every operation, and the details of the cookies and of schemas, within its Content-Security-Policy', async () => {
    const summaries = page.locator('.opblock-summary-control');
    await summaries.first().waitFor();
    const shown = await page.locator('.opblock').evaluateAll((blocks) => blocks.map(({ id }) => id));
    const { paths }: any = await (await fetch(`${service.url}/openapi.json`)).json();
    const operations = Object.values<any>(paths).flatMap((path) => Object.values<any>(path));
    const ids = operations.flatMap(({ tags, operationId }) =>
      operationId ? `operations-${tags[0].replaceAll(' ', '_')}-${operationId}` : [],
    );
    expect(shown.sort()).toEqual(ids.sort());
    expect(ids).toContain('operations-cookies-replaceCookie');
    // The page would take minutes to expand the details of all resources.
    const details = page.locator('[id^="operations-cookies-"] .opblock-summary-control');
    for (const summary of await details.all()) await summary.click();
    const schemas = page.locator('.models .model-container button[aria-expanded="false"]');
    const count = await schemas.count();
    expect(count).toBeGreaterThan(3);
    for (let schema = 0; schema < Math.min(count, 10); schema++) await schemas.first().click();
    await page.locator('.opblock.is-open .responses-table').last().waitFor();
    expect(await page.locator('.opblock.is-open').count()).toBe(6);
    expectNothingFromElsewhere();
  });

  it('forgets the token with the page, and stores it nowhere in the browser', async () => {
    const bearer = await token();
    await authorize(bearer);
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
    expect(kept).not.toContain(bearer.slice(0, 16));
    await page.reload();
    const operation = await tryOut('listCookies');
    await operation.getByRole('button', { name: 'Execute' }).click();
    expect(await operation.locator('.live-responses-table .response-col_status').last().innerText()).toMatch(/^401/);
  });

  async function authorize(bearer: string): Promise<void> {
    await page.getByRole('button', { name: 'Authorize' }).click();
    const dialog = page.locator('.dialog-ux');
    await dialog.locator('input').fill(bearer);
    await dialog.getByRole('button', { name: 'Apply credentials' }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
  }

  async function tryOut(operationId: string): Promise<Locator> {
    const operation = page.locator(`#operations-cookies-${operationId}`);
    await operation.locator('.opblock-summary-control').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    return operation;
  }

  async function answerOf(operation: Locator): Promise<any> {
    return JSON.parse(await operation.locator('.live-responses-table .highlight-code code').first().innerText());
  }

  /** Expects that no request left the origin of the service, and that the browser reported no problem. */
  function expectNothingFromElsewhere(): void {
    const sent = requests.filter((url) => !url.startsWith('data:'));
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.filter((url) => new URL(url).origin !== service.url)).toEqual([]);
    expect(complaints).toEqual([]);
  }
});
