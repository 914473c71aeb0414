/** The admin page, generated from the OpenAPI document. The hash of its URL is the path and query of a GET. */

/** The address of the service; a proxy may add a prefix. */
const ROOT = new URL('..', import.meta.url);
const TOKEN = 'admin-token';
const PAGE_SIZE = '50';
/** Maximum characters of a value in a list; the view of a record shows all. */
const MOST_CHARACTERS = 160;

const [note, nav, main, dialog] = ['#note', 'nav', 'main', 'dialog'].map((name) => document.querySelector(name));
const signOut = document.querySelector('#sign-out');

let api;
let status;
let audited = [];
let view = 0;

/** Makes an element. Texts become text nodes, functions become listeners, and other values attributes. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(key, value);
    else if (value !== false && value !== undefined) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.flat().filter((child) => child !== undefined));
  return made;
}

const paragraph = (className, text) => element('p', { class: className }, text);
const heading = (text) => element('h1', { tabindex: -1 }, text);
const card = (...children) => element('section', { class: 'card' }, ...children);
const alertOf = (error) => element('div', { role: 'alert' }, error === undefined ? '' : messageOf(error));

/** The message of an error response, with one line for each wrong property or parameter. */
function messageOf({ message, details = [] }) {
  const lines = details.map(({ pointer, parameter, message: text }) => `${pointer ?? parameter}: ${text}`);
  return (lines.length > 0 ? lines : [message]).map((line) => element('div', {}, line));
}

function textOf(value) {
  if (value === null || value === undefined) return '—';
  return typeof value === 'object' ? JSON.stringify(value, null, 1) : String(value);
}

function shortText(value) {
  const text = textOf(value);
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)} …` : text;
}

/** Sends a request. @throws {Error} with the message, the status and the details of an error response */
async function send(method, path, { body, headers } = {}) {
  const authorization = `Bearer ${sessionStorage.getItem(TOKEN)}`;
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const url = new URL(`.${path}`, ROOT);
  const request = { method, headers: { authorization, ...type, ...headers }, body: JSON.stringify(body) };
  const response = await fetch(url, request).catch(() => {
    throw new Error('The service does not respond. Try again.');
  });
  const text = await response.text();
  let data;
  try {
    data = text === '' ? undefined : JSON.parse(text);
  } catch {
    throw new Error(`The response (status ${response.status}) is not JSON or is incomplete.`);
  }
  if (response.ok) return { data, headers: response.headers };
  // The error of a proxy may be empty.
  const { message = `The response has the status ${response.status}.`, details } = data ?? {};
  const error = Object.assign(new Error(message), { status: response.status, details });
  if (error.status === 401) showSignIn(error);
  throw error;
}

// The document

function resolve(schema = {}) {
  if (schema.$ref) return resolve(api.components.schemas[schema.$ref.split('/').at(-1)]);
  return schema.oneOf ? { ...schema, ...resolve(schema.oneOf[0]), nullable: true } : schema;
}

const schemaOf = (described) => resolve(described?.content?.['application/json']?.schema);
const queryOf = ({ parameters = [] }) => parameters.filter((parameter) => parameter.in === 'query');

/** The schema of the records of a list; undefined for any other path. */
function itemOf(template) {
  const { type, items } = schemaOf(api.paths[template]?.get?.responses[200]);
  return type === 'array' ? resolve(items) : undefined;
}

/** Finds the path template of the document that matches a path; prefers templates with fewer parameters. */
function templateOf(path) {
  const templates = Object.keys(api.paths).sort((one, other) => one.split('{').length - other.split('{').length);
  return templates.find((template) => new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path));
}

/**
 * The path of a record in a list; undefined if no operation reads one record. It is below the list, or else the path of
 * the operation with the same schema, such as `/outings/{id}` for `/sleighs/{id}/outings`.
 */
function recordPath(list, { id }) {
  if (id === undefined) return undefined;
  const key = encodeURIComponent(id);
  const item = itemOf(templateOf(list));
  const readsIt = (template) => !/\}.*\{/.test(template) && schemaOf(api.paths[template].get?.responses[200]) === item;
  const below = templateOf(`${list}/${key}`);
  if (api.paths[below]?.get !== undefined) return `${list}/${key}`;
  const template = item && Object.keys(api.paths).find(readsIt);
  return template?.replace(/\{[^}]+\}/, key);
}

const nameOf = (path) => path.slice(1).replaceAll('-', ' ').replaceAll('/', ' › ');

// Views

function show(...children) {
  main.replaceChildren(...children);
  main.querySelector('h1')?.focus();
  const [path] = location.hash.split('?');
  for (const link of nav.children) {
    if (`${path}/`.startsWith(`${link.hash}/`)) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

function showSignIn(error) {
  view++;
  dialog.close();
  sessionStorage.removeItem(TOKEN);
  signOut.hidden = true;
  nav.replaceChildren();
  const input = element('input', { id: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false' });
  Object.assign(input, { required: true, pattern: '\\s*[!-~]+\\s*', title: 'One line without spaces' });
  const submit = (event) => {
    event.preventDefault();
    sessionStorage.setItem(TOKEN, input.value.trim());
    void start();
  };
  const hint = 'A token with the scope admin:read, and the scopes of what you want to see. This tab alone keeps it.';
  main.replaceChildren(
    element(
      'form',
      { class: 'card sign-in', submit },
      heading('Sign in'),
      alertOf(error),
      element('div', { class: 'field' }, element('label', { for: 'token' }, 'Token'), input),
      paragraph('quiet', hint),
      element('button', { class: 'main' }, 'Sign in'),
    ),
  );
  input.focus();
}

async function start() {
  try {
    [api, { data: status }] = await Promise.all([
      send('GET', '/admin/document').then(({ data }) => data),
      send('GET', '/admin/status'),
    ]);
  } catch (error) {
    showSignIn(error);
    return;
  }
  audited = status.resources.filter((resource) => resource.audited).map(({ resource }) => resource);
  document.title = api.info.title;
  document.querySelector('#home').textContent = api.info.title;
  signOut.hidden = false;
  const lists = Object.keys(api.paths).filter((path) => !path.includes('{') && itemOf(path) !== undefined);
  nav.replaceChildren(...lists.map((path) => element('a', { href: `#${path}` }, nameOf(path))));
  await route();
}

/** Shows the view that the hash of the URL names, unless a newer call has begun meanwhile. */
async function route() {
  if (api === undefined || !sessionStorage.getItem(TOKEN)) return;
  const turn = ++view;
  const url = new URL(/^#\/(?!\/)/.test(location.hash) ? location.hash.slice(1) : '/', ROOT);
  const template = templateOf(url.pathname);
  let children;
  try {
    if (url.pathname === '/') children = await overview();
    else if (api.paths[template]?.get === undefined) throw new Error(`The document has no GET ${url.pathname}`);
    else if (itemOf(template) !== undefined) children = await listView(template, url);
    else children = await recordView(template, url.pathname);
  } catch (error) {
    children = [heading(nameOf(url.pathname) || 'Overview'), alertOf(error)];
  }
  if (turn === view) show(...children);
}

/** Shows the current view again, with a message. */
async function refresh(message) {
  await route();
  note.textContent = message;
}

// The overview

async function overview() {
  ({ data: status } = await send('GET', '/admin/status'));
  const { health, resources, backups } = status;
  return [
    element(
      'div',
      { class: 'row' },
      heading('Overview'),
      element('button', { type: 'button', click: () => refresh('The overview is up to date.') }, 'Refresh'),
    ),
    card(element('h2', {}, 'Resources'), usageTable(resources)),
    element('div', { class: 'cards' }, healthCard(health), backupsCard(backups)),
    paragraph('quiet', `Version ${status.version}`),
  ];
}

function usageTable(resources) {
  const rows = resources.map(({ resource, text, count, capacity, audited: isAudited }) => [
    itemOf(`/${resource}`) ? element('a', { href: `#/${resource}` }, text) : text,
    count === null ? 'not known' : `${count.toLocaleString('en')} of ${capacity.toLocaleString('en')}`,
    element('meter', { value: count ?? 0, max: capacity || 1, high: capacity * 0.9, 'aria-label': `Usage of ${text}` }),
    isAudited ? 'audited' : '',
  ]);
  return tableOf(['Resource', 'Records', 'Usage', 'Audit trail'], rows);
}

function healthCard({ ready, checks }) {
  const terms = Object.entries(checks).flatMap(([name, check]) => [
    element('dt', {}, name),
    element('dd', { class: check === 'ok' ? 'good' : 'bad' }, check),
  ]);
  const summary = ready ? paragraph('good', '● Ready for requests') : paragraph('bad', '▲ Not ready');
  return card(element('h2', {}, 'Health'), summary, element('dl', {}, ...terms));
}

function backupsCard(backups) {
  const title = element('h2', {}, 'Backups');
  if (backups === null) return card(title, paragraph('quiet', 'BACKUP_DIR is not set, so no backups are seen here.'));
  if (backups.problem !== undefined) return card(title, paragraph('bad', backups.problem));
  if (backups.files.length === 0) return card(title, paragraph('bad', 'There is no backup yet.'));
  const rows = backups.files.map(({ name, time, size }) => [
    name,
    `${time.slice(0, 16).replace('T', ' ')} UTC`,
    `${(size / 1_000_000).toLocaleString('en', { maximumFractionDigits: 1 })} MB`,
  ]);
  return card(title, tableOf(['File', 'Begun', 'Size'], rows));
}

function tableOf(columns, rows) {
  const labels = columns.map((column) => element('th', { scope: 'col' }, column));
  const cells = (row) =>
    row.map((cell, index) => element('td', { 'data-label': columns[index] }, element('div', {}, cell)));
  const body = rows.map((row) => element('tr', {}, ...cells(row)));
  const head = element('thead', {}, element('tr', {}, ...labels));
  return element('div', { class: 'scroll' }, element('table', {}, head, element('tbody', {}, ...body)));
}

// A list

async function listView(template, url) {
  const { get, post } = api.paths[template];
  const path = url.pathname;
  const hasLimit = queryOf(get).some(({ name }) => name === 'limit');
  if (hasLimit && !url.searchParams.has('limit')) url.searchParams.set('limit', PAGE_SIZE);
  const isComplete = queryOf(get).every(({ name, required }) => !required || url.searchParams.has(name));
  const page = isComplete ? await recordsCard(template, url) : [];
  const create = () => openForm({ title: post.summary, method: 'post', template, path });
  return [
    element(
      'div',
      { class: 'row' },
      heading(nameOf(path)),
      post && element('button', { type: 'button', class: 'main', click: create }, post.summary),
    ),
    filterForm(get, url),
    ...page,
  ];
}

async function recordsCard(template, { pathname: path, search }) {
  let answer;
  try {
    answer = await send('GET', path + search);
  } catch (error) {
    return [alertOf(error)];
  }
  const { data: records, headers } = answer;
  const total = headers.get('x-total-count');
  const columns = Object.keys(itemOf(template).properties ?? {});
  const rows = records.map((record) => {
    const target = recordPath(path, record);
    return columns.map((name) =>
      name === 'id' && target ? element('a', { href: `#${target}` }, textOf(record.id)) : shortText(record[name]),
    );
  });
  const shown = `${records.length} shown${total === null ? '' : ` of ${Number(total).toLocaleString('en')}`}`;
  const next = nextOf(headers);
  const links = [
    new URLSearchParams(search).has('after') && element('a', { class: 'button', href: `#${path}` }, 'First page'),
    next && element('a', { class: 'button', href: `#${path}${next}` }, 'Next page'),
  ].filter(Boolean);
  const content = records.length > 0 ? tableOf(columns, rows) : paragraph('quiet', 'No records.');
  return [card(paragraph('quiet', shown), content, element('p', { class: 'row' }, ...links))];
}

/** The query of the next page; undefined on the last page (RFC 8288). */
function nextOf(headers) {
  const [, next] = /^<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
  return next && new URL(next, ROOT).search;
}

/** A form with the filters and sorts of a list, as the document declares them. */
function filterForm(operation, url) {
  const parameters = queryOf(operation).filter(({ name }) => name !== 'limit' && name !== 'after');
  const fields = parameters.map((parameter) => filterField(parameter, url.searchParams.getAll(parameter.name)));
  const submit = (event) => {
    event.preventDefault();
    const query = new URLSearchParams();
    for (const { name, schema } of parameters) {
      for (const value of new FormData(event.target).getAll(name)) {
        const values = resolve(schema).type === 'array' ? value.split(',') : [value];
        for (const one of values) if (one.trim() !== '') query.append(name, one.trim());
      }
    }
    const hash = `#${url.pathname}${query.size > 0 ? `?${query}` : ''}`;
    if (location.hash === hash) void route();
    else location.hash = hash;
  };
  return element(
    'form',
    { class: 'card row', submit, 'aria-label': 'Filters' },
    ...fields,
    element('button', {}, 'Apply'),
  );
}

function filterField({ name, schema, description, required }, values) {
  const { type, items, enum: choices } = resolve(schema);
  const options = resolve(items).enum;
  if (type === 'array' && options !== undefined) {
    const boxes = options.map((value) => {
      const checked = values.includes(String(value));
      return element('label', {}, element('input', { type: 'checkbox', name, value, checked }), ` ${value}`);
    });
    return element('fieldset', { class: 'field', title: description }, element('legend', {}, name), ...boxes);
  }
  const attributes = { name, required, title: description };
  return labelled(
    name,
    controlOf({ type, enum: choices, isOptional: true, hasOneLine: true }, attributes, values.join(', ')),
  );
}

let lastLabel = 0;

function labelled(text, control, hint) {
  control.id = `field-${++lastLabel}`;
  return element('div', { class: 'field' }, element('label', { for: control.id }, text), control, hint);
}

/** A form control for a value of a schema. */
function controlOf({ type, enum: choices, isOptional, hasOneLine }, attributes, text) {
  const options = type === 'boolean' ? [true, false] : choices;
  if (options !== undefined) {
    const values = [...(isOptional ? [''] : []), ...options.filter((value) => value !== null).map(String)];
    return element(
      'select',
      attributes,
      ...values.map((value) => element('option', { value, selected: value === text }, value || '—')),
    );
  }
  if (type !== 'integer' && type !== 'number' && !hasOneLine) {
    const area = element('textarea', { ...attributes, rows: 2 });
    area.value = text;
    return area;
  }
  const input = element('input', { ...attributes, autocomplete: 'off' });
  input.value = text;
  return input;
}

// A record

async function recordView(template, path) {
  const [{ data: record, headers }, history] = await Promise.all([send('GET', path), historyCard(path)]);
  const etag = strongTag(headers);
  const { put, patch, delete: remove } = api.paths[template];
  const list = path.slice(0, path.lastIndexOf('/'));
  const operations = [
    (patch ?? put) && { method: patch ? 'patch' : 'put', template, label: 'Change', class: 'main' },
    remove && { method: 'delete', template, label: 'Delete', class: 'danger', next: list },
    ...below(template, 'post').map((other) => ({
      method: 'post',
      template: other,
      label: api.paths[other].post.summary,
    })),
  ].filter(Boolean);
  const buttons = operations.map((operation) => {
    const target = path + operation.template.slice(template.length);
    const title = api.paths[operation.template][operation.method].summary;
    const click = () => openForm({ ...operation, title, path: target, record, recordAt: path, etag });
    return element('button', { type: 'button', class: operation.class, click }, operation.label);
  });
  const lists = below(template, 'get').filter((other) => itemOf(other) !== undefined);
  const links = lists.map((other) => path + other.slice(template.length));
  return [
    element('p', {}, element('a', { href: `#${list}` }, `‹ ${nameOf(list)}`)),
    heading(`${nameOf(list)} ${textOf(record.id)}`),
    card(
      definitions(record),
      element('div', { class: 'row' }, ...buttons),
      ...links.map((link) => element('p', {}, element('a', { href: `#${link}` }, nameOf(link)))),
    ),
    ...history,
  ];
}

/** The templates one segment below a record that have the method: its actions and lists. */
function below(template, method) {
  return Object.keys(api.paths).filter(
    (other) =>
      other.startsWith(`${template}/`) && !/[/{]/.test(other.slice(template.length + 1)) && api.paths[other][method],
  );
}

function definitions(record) {
  const terms = Object.entries(record).flatMap(([name, value]) => [
    element('dt', {}, name),
    element('dd', {}, textOf(value)),
  ]);
  return element('dl', {}, ...terms);
}

/** The lines of the audit trail about a record; none if its resource is not audited. */
async function historyCard(path) {
  const [, resource, id] = path.split('/').map(decodeURIComponent);
  if (!audited.includes(resource)) return [];
  const body = element('div');
  const query = new URLSearchParams({ resource, record: id, limit: PAGE_SIZE });
  const load = async (search) => {
    const { data: lines, headers } = await send('GET', `/audit${search}`);
    const rows = lines.map((line) => [line.at, line.operation, line.subject ?? line.databaseUser, changesOf(line)]);
    const next = nextOf(headers);
    const click = (event) => {
      event.target.remove();
      load(next).catch((error) => body.append(alertOf(error)));
    };
    body.append(tableOf(['When', 'What', 'Who', 'Change'], rows));
    if (next) body.append(element('button', { type: 'button', click }, 'Later changes'));
  };
  await load(`?${query}`).catch((error) => body.append(alertOf(error)));
  return [card(element('h2', {}, 'History'), body)];
}

function changesOf({ before, after }) {
  const names = Object.keys({ ...before, ...after });
  const changed = names.filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]));
  return changed.map((name) => {
    const old = before === null ? [] : [element('del', {}, shortText(before[name])), ' '];
    const now = after === null ? [] : [element('ins', {}, shortText(after[name]))];
    return element('div', {}, `${name}: `, ...old, ...now);
  });
}

// Forms

/** A value for `Idempotency-Key`; `crypto.randomUUID` exists with HTTPS only. */
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join('-');

/** A property of a body: its field, and how to read it. */
function propertyOf(name, schema, value, isRequired, method) {
  const { type, nullable, description, example } = schema;
  const initial = value === null || value === undefined ? '' : textOf(value);
  const isOptional = nullable || (!isRequired && method !== 'patch');
  const hint = description ?? (example === undefined ? undefined : `For example: ${textOf(example)}`);
  const control = controlOf({ ...schema, isOptional: isOptional || initial === '' }, { name }, initial);
  const read = () => {
    if (control.value === '') return nullable ? null : '';
    if (type === 'integer' || type === 'number')
      return Number.isNaN(Number(control.value)) ? control.value : Number(control.value);
    if (type === 'boolean') return control.value === 'true';
    return type === 'object' || type === 'array' ? JSON.parse(control.value) : control.value;
  };
  const isChanged = () => control.value.replaceAll('\r\n', '\n') !== initial.replaceAll('\r\n', '\n');
  const isSent = () => isChanged() || (method !== 'patch' && (isRequired || initial !== ''));
  const field = labelled(
    isOptional ? `${name} (optional)` : name,
    control,
    hint && element('small', { class: 'quiet' }, hint),
  );
  return { name, control, read, isSent, field };
}

/**
 * Opens the form of an operation. After 412 it shows the new version of the record, and the next attempt uses its ETag.
 */
function openForm({ title, method, template, path, record, recordAt, etag, next }) {
  const operation = api.paths[template][method];
  const schema = schemaOf(operation.requestBody);
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) =>
    propertyOf(name, resolve(property), record?.[name], (schema.required ?? []).includes(name), method),
  );
  const problem = element('div', { role: 'alert' });
  let key = newKey();
  let version = etag;
  const headersOf = () => ({
    ...(version && { 'if-match': version }),
    ...(operation.parameters?.some(({ name }) => name === 'Idempotency-Key') && { 'idempotency-key': key }),
  });
  const submit = async (event) => {
    event.preventDefault();
    try {
      const sent = properties.filter(({ isSent }) => isSent()).map(({ name, read }) => [name, read()]);
      const body = operation.requestBody === undefined ? undefined : Object.fromEntries(sent);
      const { data } = await send(method.toUpperCase(), path, { body, headers: headersOf() });
      dialog.close();
      const created = record === undefined && data !== undefined ? recordPath(path, data) : undefined;
      await finish(`Done: ${title}.`, next ?? created);
    } catch (error) {
      markInvalid(properties, error);
      problem.replaceChildren(...messageOf(error));
      if (error.status === 412) version = await showNewVersion(problem, recordAt, version);
    }
  };
  const isDelete = method === 'delete';
  const form = element(
    'form',
    // An unchanged form is sent with the same key, so that a repeated POST creates only one record.
    { submit, input: () => (key = newKey()), novalidate: true },
    element('h2', { id: 'dialog-title' }, title),
    problem,
    ...(properties.length > 0 ? properties.map(({ field }) => field) : [record ? definitions(record) : '']),
    element(
      'div',
      { class: 'row' },
      element('button', { class: isDelete ? 'danger' : 'main' }, isDelete ? 'Delete' : 'Save'),
      element('button', { type: 'button', click: () => dialog.close() }, 'Cancel'),
    ),
  );
  dialog.replaceChildren(form);
  dialog.showModal();
}

/** Goes to another view, or reloads the current view. */
async function finish(message, path) {
  if (path === undefined) return refresh(message);
  addEventListener('hashchange', () => (note.textContent = message), { once: true });
  location.hash = path;
}

function markInvalid(properties, { details = [] }) {
  const wrong = details.map(({ pointer }) => pointer);
  for (const { name, control } of properties) control.setAttribute('aria-invalid', String(wrong.includes(`/${name}`)));
  properties.find(({ name }) => wrong.includes(`/${name}`))?.control.focus();
}

/** The ETag for `If-Match`, without the `W/` of a proxy that compresses. */
const strongTag = (headers) => headers.get('etag')?.replace(/^W\//, '');

/** Shows the current version of the record. @returns its ETag */
async function showNewVersion(problem, path, version) {
  try {
    const { data, headers } = await send('GET', path);
    const hint = 'This is the record now. Your changes are kept: confirm again to apply them to it, or cancel.';
    problem.append(paragraph('', hint), definitions(data));
    return strongTag(headers);
  } catch (error) {
    problem.replaceChildren(...messageOf(error));
    return version;
  }
}

signOut.addEventListener('click', () => showSignIn());
addEventListener('hashchange', () => {
  note.textContent = '';
  dialog.close();
  void route();
});

if (sessionStorage.getItem(TOKEN)) void start();
else showSignIn();
