/** Clients write requests and read responses. Stricter requests break them, and so do more permissive responses. */
type Direction = 'request' | 'response';
type Entries = Record<string, any>;
type Compare = (place: string, before: any, after: any) => void;

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'];
const LOWER_LIMITS = ['minimum', 'x-minimum', 'minLength', 'minItems'];
const UPPER_LIMITS = ['maximum', 'maxLength', 'maxItems'];
const FORMS = ['type', 'format', 'pattern', 'multipleOf', 'uniqueItems', 'exclusiveMinimum', 'exclusiveMaximum'];
const REJECTED = 'clients that send what was allowed get 400';
const NOT_SENT = 'clients that do not send it get 400';
const READS_NOTHING = 'clients that read it may get none';
const UNKNOWN_VALUE = 'clients that rely on the old description cannot read every response';

/**
 * Each change from the released to the served document that breaks clients: where, what, and which clients.
 * api-smart-diff 1.0.6 misses six of the cases in `released-document.e2e-spec.ts`, such as a new required property of a
 * body.
 */
export function breakingChanges(released: any, served: any): string[] {
  return new Comparison(released, served).breaks;
}

class Comparison {
  readonly breaks: string[] = [];
  /** Pairs of referenced schemas that are being compared, since a schema may contain itself. */
  private readonly open = new Set<string>();

  constructor(
    private readonly released: any,
    private readonly served: any,
  ) {
    const [from, to] = [operationsOf(released), operationsOf(served)];
    this.compareEntries('', from, to, 'its clients get 404 or 405', this.compareOperations);
  }

  private report(place: string, change: string, who: string): void {
    this.breaks.push(`${place} ${change}: ${who}`);
  }

  /** Reports missing entries, and compares the others. */
  private compareEntries(prefix: string, from: Entries = {}, to: Entries = {}, who: string, compare: Compare): void {
    for (const [name, before] of Object.entries(from)) {
      if (to[name] === undefined) this.report(prefix + name, 'is gone', who);
      else compare(prefix + name, before, to[name]);
    }
  }

  private readonly compareOperations: Compare = (place, from, to) => {
    if (from.operationId !== to.operationId) {
      this.report(place, `is called ${to.operationId}, not ${from.operationId}`, 'generated clients lose the function');
    }
    const ways = new Set((to.security ?? []).map((way: object) => JSON.stringify(way)));
    if ((from.security ?? []).some((way: object) => !ways.has(JSON.stringify(way)))) {
      this.report(place, 'needs other credentials', 'clients with those of before get 401');
    }
    this.compareRequired(`${place}, body`, from.requestBody, to.requestBody);
    const [sent, accepted] = [from.requestBody?.content, to.requestBody?.content];
    this.compareEntries(`${place}, body `, sent, accepted, 'clients that send it get 415', this.compareSent);
    this.compareParameters(`${place}, `, parametersOf(from), parametersOf(to));
    this.compareResponses(`${place}, response `, from.responses, to.responses);
  };

  private compareParameters(prefix: string, from: Entries, to: Entries): void {
    this.compareEntries(prefix, from, to, 'clients that send it get 400, or no effect', this.compareSent);
    for (const name of Object.keys(to)) this.compareRequired(prefix + name, from[name], to[name]);
  }

  private compareRequired(place: string, from: Entries = {}, to: Entries = {}): void {
    if (!from.required && to.required) this.report(place, 'is required now', NOT_SENT);
  }

  private readonly compareSent: Compare = (place, from, to) => {
    this.compareSchemas(place, from.schema, to.schema, 'request');
  };

  private compareResponses(prefix: string, from: Entries, to: Entries): void {
    this.compareEntries(prefix, from, to, 'clients that wait for it do not get it', this.compareResponse);
    for (const status of Object.keys(to).filter((one) => /^[23]/.test(one) && from[one] === undefined)) {
      this.report(prefix + status, 'is new', 'clients that know only the other successes take it for an error');
    }
  }

  private readonly compareResponse: Compare = (place, from, to) => {
    this.compareEntries(`${place}, header `, from.headers, to.headers, READS_NOTHING, this.compareRead);
    this.compareEntries(`${place} `, from.content, to.content, 'clients cannot read the response', this.compareRead);
  };

  private readonly compareRead: Compare = (place, from, to) => {
    const [before, after] = [resolve(this.released, from), resolve(this.served, to)];
    if (before.required && !after.required) this.report(place, 'may be absent', READS_NOTHING);
    this.compareSchemas(place, before.schema, after.schema, 'response');
  };

  private compareSchemas(place: string, from: any, to: any, direction: Direction): void {
    const pair = `${from.$ref} ${to.$ref} ${direction}`;
    if (from.$ref !== undefined && this.open.has(pair)) return;
    this.open.add(pair);
    const [before, after] = [resolve(this.released, from), resolve(this.served, to)];
    this.compareValues(place, before, after, direction);
    this.compareProperties(`${place}, `, before, after, direction);
    if (before.items && after.items) this.compareSchemas(`${place}, items`, before.items, after.items, direction);
    for (const keyword of ['allOf', 'oneOf', 'anyOf']) {
      const [some, others] = [before[keyword] ?? [], after[keyword] ?? []];
      if (some.length !== others.length) this.report(place, `has another ${keyword}`, 'clients know only the old one');
      else some.forEach((one: any, index: number) => this.compareSchemas(place, one, others[index], direction));
    }
    this.open.delete(pair);
  }

  /** The allowed values of a request may only increase, those of a response only decrease. */
  private compareValues(place: string, from: any, to: any, direction: Direction): void {
    const [wide, narrow] = direction === 'request' ? [from, to] : [to, from];
    const who = direction === 'request' ? REJECTED : UNKNOWN_VALUE;
    for (const keyword of [...LOWER_LIMITS, ...UPPER_LIMITS, ...FORMS]) {
      if (!isNarrower(keyword, wide[keyword], narrow[keyword])) continue;
      this.report(place, `has the ${keyword} ${to[keyword] ?? 'none'}, not ${from[keyword] ?? 'none'}`, who);
    }
    if (wide.nullable && !narrow.nullable) this.report(place, to.nullable ? 'may be null' : 'is never null', who);
    if (narrow.enum === undefined) return;
    const others: unknown[] = wide.enum?.filter((value: unknown) => !narrow.enum.includes(value)) ?? ['any value'];
    const change = direction === 'request' ? 'no longer accepts' : 'has as a new value';
    if (others.length > 0) this.report(place, `${change} ${others.join(', ')}`, who);
  }

  private compareProperties(prefix: string, from: any, to: any, direction: Direction): void {
    const isRequest = direction === 'request';
    const [before, after] = [from.properties ?? {}, to.properties ?? {}];
    this.compareEntries(prefix, before, after, isRequest ? REJECTED : READS_NOTHING, (name, one, other) =>
      this.compareSchemas(name, one, other, direction),
    );
    const [wide, narrow] = isRequest ? [from, to] : [to, from];
    for (const name of (narrow.required ?? []).filter((one: string) => !wide.required?.includes(one))) {
      this.report(prefix + name, isRequest ? 'is required now' : 'may be absent', isRequest ? NOT_SENT : READS_NOTHING);
    }
    if (narrow.additionalProperties !== false) return;
    const added = Object.keys(after).filter((name) => !isRequest && before[name] === undefined);
    if (wide.additionalProperties !== false) added.push('another property');
    const change = isRequest ? 'is not accepted now' : 'is new where nothing was to come';
    for (const name of added) this.report(prefix + name, change, isRequest ? REJECTED : UNKNOWN_VALUE);
  }
}

function isNarrower(keyword: string, wide: any, narrow: any): boolean {
  if (LOWER_LIMITS.includes(keyword)) return (narrow ?? -Infinity) > (wide ?? -Infinity);
  if (UPPER_LIMITS.includes(keyword)) return (narrow ?? Infinity) < (wide ?? Infinity);
  return narrow !== undefined && narrow !== false && narrow !== wide;
}

function operationsOf({ paths }: any): Entries {
  const operations = Object.entries<any>(paths).flatMap(([path, item]) =>
    METHODS.filter((name) => item[name]).map((name) => [`${name.toUpperCase()} ${path}`, item[name]]),
  );
  return Object.fromEntries(operations);
}

function parametersOf({ parameters = [] }: any): Entries {
  return Object.fromEntries(parameters.map((one: any) => [`${one.in} parameter ${one.name}`, one]));
}

/** The referenced part of a document, or the part itself. */
function resolve(document: any, part: any): any {
  if (part.$ref === undefined) return part;
  return part.$ref
    .slice(2)
    .split('/')
    .reduce((node: any, name: string) => node[name], document);
}
