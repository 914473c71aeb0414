import type { OpenAPIObject } from '@nestjs/swagger';
import { type Access, ACCESS_EXTENSION } from '../auth/scopes.decorator.js';
import { BODY_LIMIT, lengthOf, LIMIT_EXTENSION } from '../http/body/body-limit.js';
import { declaresOnly } from '../http/validation/property-decorators.js';
import { CLOSED } from './closed.decorator.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

/** The parts of an operation that this file reads and changes. `@nestjs/swagger` writes no references to them. */
interface Operation {
  [LIMIT_EXTENSION]?: number;
  [ACCESS_EXTENSION]?: Access;
  security?: object[];
  requestBody?: { description?: string; content: Record<string, { schema?: { $ref?: string } }> };
  responses: Record<string, Response>;
}

interface Response {
  description: string;
  headers?: Record<string, { $ref?: string }>;
  content?: Record<string, { examples?: Record<string, object> }>;
}

type Node = Record<string, unknown>;

/** Extension of an enum in a list parameter with the name of its schema, until `completeDocument` replaces it. */
export const ENUM_NAME = 'x-enum-name';

/** Adds to the document of `@nestjs/swagger` what its decorators cannot express. */
export function completeDocument(document: OpenAPIObject): void {
  const schemas: Schemas = document.components?.schemas ?? {};
  const operations = Object.values(document.paths).flatMap((item) => Object.entries(item as Record<string, Operation>));
  // Before `unwrapped`, which keeps the wrapper of an enum with a default.
  removeDefaults(operations, schemas);
  replaceIn(document as unknown as Node, (node) => unwrapped(node) ?? enumReference(node, schemas));
  closeSchemas(operations, schemas);
  for (const [method, operation] of operations) {
    describeBodyLimit(operation);
    describeAccess(method, operation);
  }
  removeUnusedHeaders(document);
}

/** Removes the header fields that no response has, such as those of public routes. Linters report unused components. */
function removeUnusedHeaders({ paths, components = {} }: OpenAPIObject): void {
  const text = JSON.stringify(paths);
  const used = Object.entries(components.headers ?? {}).filter(([name]) => text.includes(`/headers/${name}"`));
  components.headers = Object.fromEntries(used);
}

/** Replaces each object in a tree for which `replacementOf` returns another object. */
function replaceIn(tree: Node, replacementOf: (node: Node) => Node | undefined): void {
  for (const [key, node] of Object.entries(tree)) {
    if (typeof node !== 'object' || node === null) continue;
    const replacement = replacementOf(node as Node);
    if (replacement === undefined) replaceIn(node as Node, replacementOf);
    else tree[key] = replacement;
  }
}

/**
 * The `$ref` of `{ allOf: [{ $ref }] }`. `@nestjs/swagger` wraps named enums like this, and client generators make a
 * type for each wrapper. A nullable enum becomes `oneOf` with null, because `allOf` would exclude null.
 */
function unwrapped(node: Node): Node | undefined {
  const { allOf, nullable, ...others } = node;
  if (!Array.isArray(allOf) || allOf.length !== 1) return undefined;
  const [reference] = allOf as [Node];
  if (!('$ref' in reference)) return undefined;
  if (nullable === undefined) return Object.keys(others).length > 0 ? undefined : reference;
  const { type: _type, ...rest } = others;
  return { ...rest, oneOf: [reference, { type: 'string', nullable: true, enum: [null] }] };
}

/** The reference to the schema of an enum. An enum that only optional properties use has no schema. */
function enumReference(node: Node, schemas: Schemas): Node | undefined {
  const { [ENUM_NAME]: name, ...values } = node;
  if (typeof name !== 'string') return undefined;
  return name in schemas ? { $ref: `#/components/schemas/${name}` } : values;
}

/**
 * Sets `additionalProperties: false` in request bodies, whose unknown properties are 400, and in classes with
 * `ApiClosed`. Other schemas stay open: for properties of a later version, or those without `@ApiProperty()`.
 */
function closeSchemas(operations: readonly [string, Operation][], schemas: Schemas): void {
  const bodies = bodySchemas(operations);
  for (const [name, schema] of Object.entries(schemas)) {
    const isClosed = CLOSED in schema || bodies.includes(name);
    if (isClosed && 'type' in schema && schema.type === 'object' && declaresOnly(name, schema.properties ?? {})) {
      schema.additionalProperties ??= false;
    }
    delete (schema as Node)[CLOSED];
  }
}

/**
 * Removes the defaults from the bodies of PATCH, where absent properties do not change. Clients and gateways that fill
 * in defaults would reset the stored values.
 */
function removeDefaults(operations: readonly [string, Operation][], schemas: Schemas): void {
  for (const name of bodySchemas(operations.filter(([method]) => method === 'patch'))) {
    const { properties = {} } = (schemas[name] ?? {}) as { properties?: Record<string, Node> };
    for (const property of Object.values(properties)) delete property['default'];
  }
}

/** The names of the schemas of request bodies. */
function bodySchemas(operations: readonly [string, Operation][]): string[] {
  const contents = operations.flatMap(([, { requestBody }]) => Object.values(requestBody?.content ?? {}));
  return contents.flatMap(({ schema }) => schema?.$ref?.split('/').at(-1) ?? []);
}

/** Writes the limit of `@AcceptsBody()` into the descriptions of the body and of the 413. */
function describeBodyLimit({ [LIMIT_EXTENSION]: limit, requestBody, responses }: Operation): void {
  if (limit === undefined) return;
  const length = lengthOf(limit);
  if (requestBody !== undefined) requestBody.description = `At most ${length}.`;
  const standard = responses['413'] ?? { description: `The body is larger than ${lengthOf(BODY_LIMIT)}` };
  const text = JSON.stringify(standard).replaceAll(lengthOf(BODY_LIMIT), length);
  responses['413'] = JSON.parse(text) as Response;
}

/**
 * Writes the rule of `@Scopes()` or `@Public()` as the security of an operation. Only a public GET checks a token that
 * is sent; shared caches may store its success.
 */
function describeAccess(method: string, operation: Operation): void {
  const { [ACCESS_EXTENSION]: access, responses } = operation;
  delete operation[ACCESS_EXTENSION];
  if (access === undefined) return;
  const bearer = { bearer: [] };
  if (access !== 'public') {
    operation.security = [bearer];
    return;
  }
  operation.security = method === 'get' ? [{}, bearer] : [{}];
  delete responses['403'];
  delete responses['401']?.content?.['application/json']?.examples?.['absent'];
  for (const { headers } of Object.values(responses)) {
    if (headers?.['Vary']?.$ref !== '#/components/headers/Vary') continue;
    delete headers['Vary'];
    headers['Cache-Control'] = { $ref: '#/components/headers/Public-Cache-Control' };
  }
}
