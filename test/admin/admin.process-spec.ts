import './audited-cookies.js';
import { isDeepStrictEqual } from 'node:util';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { Page } from 'playwright-core';
import type { DataSource } from 'typeorm';
import { CreateOutings1790000400000 } from '../outings/create-outings.js';
import { OutingsModule } from '../outings/outings.module.js';
import { describeInBrowser, launchBrowser } from '../support/browser.js';
import { startPrefixProxy } from './prefix-proxy.js';
import { Client, COOKIE, sharedService, token } from '../support/service.js';
import { shared } from '../support/shared.js';
import { until } from '../support/until.js';

const RESOURCES = ['cookies', 'sleighs', 'outings'];
const SCOPE = ['admin:read', 'audit:read', ...RESOURCES.flatMap((name) => [`${name}:read`, `${name}:write`])].join(' ');

describeInBrowser('the admin page', () => {
  const settings = { ADMIN_PAGE: 'true', DOCS: 'false' };
  const { service } = sharedService(settings, [OutingsModule], [new CreateOutings1790000400000()]);
  const client = Client.of(service, { scope: SCOPE });
  const browser = shared(launchBrowser);
  let page: Page;
  let bearer: string;
  let origin: string;
  const requests: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    bearer = await token({ scope: SCOPE });
  });

  beforeEach(async () => {
    complaints.length = 0;
    await open();
  });

  // No request left the origin, no script failed, and the policy was not violated.
  afterEach(async () => {
    await page.context().close();
    expect(requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  async function open(options = {}, root = service.url, path = '/admin'): Promise<void> {
    origin = root;
    requests.length = 0;
    const context = await browser.newContext(options);
    context.setDefaultTimeout(10_000);
    context.on('request', (request) => requests.push(request.url()));
    context.on('console', (message) => {
      // Chromium reports each error status, too.
      const isStatus = message.text().startsWith('Failed to load resource: the server responded with');
      if (['error', 'warning'].includes(message.type()) && !isStatus) complaints.push(message.text());
    });
    context.on('weberror', (error) => complaints.push(String(error.error())));
    page = await context.newPage();
    await page.goto(root + path);
  }

  async function signIn(given = bearer): Promise<void> {
    await page.getByLabel('Token').fill(given);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  async function visit(path: string): Promise<void> {
    await signIn();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await go(path);
  }

  async function go(path: string): Promise<void> {
    const before = await page.locator('h1').elementHandle();
    await page.evaluate(`location.hash = ${JSON.stringify(path)}`);
    await before.waitForElementState('hidden');
    await page.locator('h1').waitFor();
  }

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const dialog = () => page.getByRole('dialog');
  const fillIn = async (wish = ''): Promise<void> => {
    await dialog().getByLabel('flavor').selectOption('vanilla');
    await dialog().getByLabel('size').selectOption('small');
    if (wish !== '') await dialog().getByLabel('wish').fill(wish);
  };
  const rows = (): Promise<string[]> =>
    page.evaluate(
      "[...document.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent).join('\\t'))",
    );
  const added = async (values: object = {}) => (await client.post({ ...COOKIE, ...values })).body as { id: number };
  const read = async (path: string) => (await client.get(path)).body;
  const shown = (text: string) => page.getByText(text).first().waitFor();

  it('shows the message of the service for a token that it rejects, and signs in with a valid one', async () => {
    await signIn('nonsense');
    await shown('The token');
    await signIn(await token());
    await shown('The token needs the scope admin:read');
    await signIn();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await shown('Ready for requests');
    expect(await page.locator('nav a').allTextContents()).toEqual(
      expect.arrayContaining(['cookies', 'outings', 'sleighs']),
    );
    const { count, capacity } = (await read('/admin/status')).resources[0];
    await shown(`${count.toLocaleString('en')} of ${capacity.toLocaleString('en')}`);
  });

  it('keeps the token for its tab alone, and forgets it on signing out', async () => {
    const storages = 'JSON.stringify([{ ...localStorage }, document.cookie, { ...sessionStorage }])';
    await visit('/cookies');
    await page.reload();
    await button('Add a cookie').waitFor();
    expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
    await button('Sign out').click();
    await page.getByLabel('Token').waitFor();
    expect(await page.evaluate(storages)).not.toContain(bearer.slice(0, 16));
    expect(page.url()).not.toContain(bearer.slice(0, 16));
  });

  it('asks for another token when the token expires', async () => {
    await signIn(await token({ scope: SCOPE, expiresIn: -27 }));
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.waitForTimeout(3500);
    await button('Refresh').click();
    await shown('The token has expired');
    expect(await page.getByLabel('Token').count()).toBe(1);
  });

  it('lists records with the filters and sorts of the document, page by page', async () => {
    for (let index = 0; index < 60; index++)
      await added({ flavor: index % 2 ? 'cinnamon' : 'chocolate', size: 'large' });
    await visit('/cookies');
    await page.getByLabel('sort').selectOption('-id');
    await page.getByLabel('cinnamon').check();
    await page.getByLabel('vanilla').check();
    await button('Apply').click();
    await page.waitForURL(/#\/cookies\?sort=-id&flavor=vanilla&flavor=cinnamon$/);
    await page.getByLabel('cinnamon').and(page.locator(':checked')).waitFor();
    const expected = (await read('/cookies?sort=-id&flavor=vanilla&flavor=cinnamon&limit=50')) as any[];
    const lines = expected.map(({ id, flavor, size, wish }) => [id, flavor, size, wish].join('\t'));
    await until(async () => isDeepStrictEqual(await rows(), lines), 'the records of the list');
    await go('/cookies');
    const [first] = await rows();
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'First page' }).waitFor();
    expect((await rows())[0]).not.toBe(first);
    await shown(' shown of ');
  });

  it('creates a record, and shows which properties are wrong', async () => {
    await visit('/cookies');
    await button('Add a cookie').click();
    await fillIn();
    await button('Save').click();
    await dialog().getByText('/wish: must be a text of 1 to 255 characters').waitFor();
    expect(await dialog().getByLabel('wish').getAttribute('aria-invalid')).toBe('true');
    await dialog().getByLabel('wish').fill('Snow\nand stars');
    await button('Save').click();
    await page.waitForURL(/#\/cookies\/\d+$/);
    await shown('Done: Add a cookie.');
    const path = new URL(page.url()).hash.slice(1);
    expect(await read(path)).toMatchObject({ flavor: 'vanilla', size: 'small', wish: 'Snow\nand stars' });
    await shown('Snow');
  });

  it("shows the new version of a record that has changed meanwhile, and then sends only the user's changes", async () => {
    const { id } = await added();
    await visit(`/cookies/${id}`);
    await button('Change').click();
    await dialog().getByLabel('flavor').selectOption('cinnamon');
    await client.request('PATCH', `/cookies/${id}`, { body: { size: 'large' } });
    await button('Save').click();
    await dialog().getByText('The record has changed since you read it').waitFor();
    expect(await dialog().locator('dd').allInnerTexts()).toEqual([String(id), 'vanilla', 'large', COOKIE.wish]);
    expect(await read(`/cookies/${id}`)).toMatchObject({ flavor: 'vanilla', size: 'large' });
    await button('Save').click();
    await shown('Done: Partially update a cookie.');
    expect(await read(`/cookies/${id}`)).toMatchObject({ flavor: 'cinnamon', size: 'large' });
  });

  it('deletes a record after a question, unless it has changed meanwhile', async () => {
    const { id } = await added();
    await visit(`/cookies/${id}`);
    await button('Delete').click();
    await client.request('PATCH', `/cookies/${id}`, { body: { size: 'large' } });
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await dialog().getByText('The record has changed since you read it').waitFor();
    expect((await client.get(`/cookies/${id}`)).status).toBe(200);
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(/#\/cookies$/);
    await shown('Done: Delete a cookie.');
    expect((await client.get(`/cookies/${id}`)).status).toBe(404);
  });

  it('shows the history of a record whose resource is audited', async () => {
    const { id } = await added();
    const bob = Client.of(service, { subject: 'bob' });
    await bob.request('PATCH', `/cookies/${id}`, { body: { flavor: 'cinnamon' } });
    await visit(`/cookies/${id}`);
    const history = page.locator('section', { hasText: 'History' }).locator('tbody tr');
    expect(await history.nth(0).innerText()).toMatch(/create\s+alice\s[^]*wish: May your tests be green/);
    expect(await history.nth(1).innerText()).toMatch(/update\s+bob\s+flavor: vanilla cinnamon$/);
  });

  it('shows the old text before the new text in a history, also if the old text reverses the direction', async () => {
    const { id } = await added({ wish: '\u202eold' });
    const source = service.app.get<DataSource>(getDataSourceToken(), { strict: false });
    await source.query(`UPDATE cookies SET wish = 'new' WHERE id = ${id}`);
    await visit(`/cookies/${id}`);
    const change = page.locator('section', { hasText: 'History' }).locator('tr').last();
    const before = await change.locator('del').boundingBox();
    expect(before!.x).toBeLessThan((await change.locator('ins').boundingBox())!.x);
  });

  it('has the resource of a team, with its filters, forms, actions and lists below', async () => {
    const { id } = (await client.request('POST', '/sleighs', { body: { seats: 6 } })).body;
    await visit('/outings');
    await button('Add an outing').click();
    await dialog().getByLabel('sleighId').fill(String(id));
    await dialog().getByLabel('guests').fill('4');
    await dialog().getByLabel('startsAt').fill('2030-01-01T10:00:00Z');
    await dialog().getByLabel('endsAt').fill('2030-01-01T12:00:00Z');
    await button('Save').click();
    await page.waitForURL(/#\/outings\/\d+$/);
    const path = new URL(page.url()).hash.slice(1);
    expect(await read(path)).toMatchObject({ sleighId: id, guests: 4, status: 'booked' });
    expect(await page.getByText('History').count()).toBe(0);
    await button('Cancel an outing').click();
    await dialog().getByRole('button', { name: 'Save' }).click();
    await shown('Done: Cancel an outing.');
    expect(await read(path)).toMatchObject({ status: 'cancelled' });
    await go('/outings?guestsFrom=5&sort=-guests');
    await shown('No records.');
    expect(await page.getByLabel('guestsFrom').inputValue()).toBe('5');
    await go(`/sleighs/${id}`);
    await page.getByRole('link', { name: `sleighs › ${id} › outings` }).click();
    await page.getByRole('link', { name: path.split('/')[2]!, exact: true }).click();
    await page.waitForURL((url) => url.hash === `#${path}`);
  });

  it.each(['/admin', '/admin/'])(
    'works behind a proxy that adds a prefix and makes ETags weak: /store%s',
    async (path) => {
      await page.context().close();
      await using proxy = await startPrefixProxy(service.url, '/store');
      await open({}, proxy.url, path);
      await visit('/cookies?sort=-id');
      await button('Add a cookie').click();
      await fillIn(`Behind ${path}`);
      await button('Save').click();
      await page.waitForURL(/#\/cookies\/\d+$/);
      expect(await read(new URL(page.url()).hash.slice(1))).toMatchObject({ wish: `Behind ${path}` });
      await button('Delete').click();
      await dialog().getByRole('button', { name: 'Delete' }).click();
      await shown('Done: Delete a cookie.');
    },
  );

  it('works by keyboard: signs in, opens a form that keeps the focus, returns the focus, and creates a record', async () => {
    const { keyboard } = page;
    const focused = () => page.evaluate('document.activeElement.textContent');
    const tabTo = async (text: string) => {
      for (let presses = 0; presses < 30 && (await focused()) !== text; presses++) await keyboard.press('Tab');
      expect(await focused()).toBe(text);
    };
    await keyboard.type(bearer);
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await keyboard.press('Shift+Tab');
    await page.getByRole('link', { name: 'cookies' }).first().focus();
    await keyboard.press('Enter');
    await button('Add a cookie').waitFor();
    expect(await focused()).toBe('cookies');
    await tabTo('Add a cookie');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    await keyboard.press('Enter');
    for (let presses = 0; presses < 12; presses++) {
      await keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.closest("dialog, body") !== null')).toBe(true);
      expect(await page.evaluate('document.activeElement.closest("header, main")')).toBeNull();
    }
    await keyboard.press('Escape');
    expect([await dialog().count(), await focused()]).toEqual([0, 'Add a cookie']);
    await keyboard.press('Enter');
    await keyboard.type('v');
    await keyboard.press('Tab');
    await keyboard.type('l');
    await keyboard.press('Tab');
    await keyboard.type('By keyboard');
    await tabTo('Save');
    await keyboard.press('Enter');
    await page.waitForURL(/#\/cookies\/\d+$/);
    const expected = { flavor: 'vanilla', size: 'large', wish: 'By keyboard' };
    expect(await read(new URL(page.url()).hash.slice(1))).toMatchObject(expected);
  });

  it('fits into narrow and wide windows without a horizontal scroll bar, dark and light', async () => {
    const { id } = await added({ wish: 'W'.repeat(255) });
    const backgrounds = new Set<unknown>();
    for (const [width, colorScheme] of [
      [360, 'dark'],
      [1440, 'light'],
    ]) {
      await page.context().close();
      await open({ viewport: { width, height: 800 }, colorScheme });
      await signIn();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      backgrounds.add(await page.evaluate('getComputedStyle(document.documentElement).backgroundColor'));
      for (const path of ['/', '/cookies?sort=-id', `/cookies/${id}`, '/audit?resource=cookies', '/outings']) {
        await page.evaluate(`location.hash = ${JSON.stringify(path)}`);
        await page.waitForTimeout(300);
        expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, width]);
      }
    }
    expect(backgrounds.size).toBe(2);
  });

  it('shows hostile and huge values as text, and the browser rejects HTML that a script would insert', async () => {
    const wish = `"><img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;
    const { id } = await added({ wish });
    await visit('/cookies?sort=-id');
    await until(async () => (await rows())[0]?.endsWith(`\t${wish}`) === true, 'the hostile wish');
    await go(`/cookies/${id}`);
    expect(await page.locator('dd').last().innerText()).toBe(wish);
    await client.request('POST', '/sleighs', { body: { seats: 6 } });
    const outing = { guests: 1, startsAt: '2031-01-01T10:00:00Z', endsAt: '2031-01-01T12:00:00Z' };
    const sleighId = (await read('/sleighs?sort=-id&limit=1'))[0].id;
    const made = (await client.request('POST', '/outings', { body: { sleighId, ...outing } })).body;
    const owner = '<b>'.repeat(66_667);
    const source = service.app.get<DataSource>(getDataSourceToken(), { strict: false });
    await source.query(`UPDATE outings SET owner = '${owner}' WHERE id = ${made.id}`);
    await go('/outings?sort=-id');
    expect((await rows())[0]!.length).toBeLessThan(500);
    await go(`/outings/${made.id}`);
    expect(await page.locator('dd', { hasText: '<b><b>' }).textContent()).toBe(owner);
    expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThan(2000);
    expect(await page.locator('main img, main script, main b').count()).toBe(0);
    expect(await page.title()).not.toBe('taken');
    await expect(page.evaluate('document.body.innerHTML = "<b>bold</b>"')).rejects.toThrow('TrustedHTML');
    complaints.length = 0;
  });

  it('shows an error when the service does not respond or a proxy sends an empty 503, and creates one record however often Save is pressed', async () => {
    await visit('/cookies');
    const before = (await read('/cookies')).length;
    await button('Add a cookie').click();
    await fillIn('Once');
    // The record is stored, and its response is lost.
    await page.route(
      '**/cookies',
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await button('Save').click();
    await dialog().getByText('The service does not respond').waitFor();
    await page.route('**/cookies', (route) => route.fulfill({ status: 503 }), { times: 1 });
    await button('Save').click();
    await dialog().getByText('The response has the status 503.').waitFor();
    await button('Save').click();
    await page.waitForURL(/#\/cookies\/\d+$/);
    expect((await read('/cookies')).length).toBe(before + 1);
    complaints.length = 0;
  });
});
