import type { OpenAPIObject } from '@nestjs/swagger';
import { ACCESS_EXTENSION } from '../auth/scopes.decorator.js';
import { BODY_LIMIT, lengthOf, LIMIT_EXTENSION } from '../http/body/body-limit.js';
import { CLOSED } from './closed.decorator.js';

type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']>;
type ResponseObject = OperationObject['responses'][string];
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

interface Node {
  [key: string]: unknown;
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'] as const;

/** Extension of an enum in a list parameter with the name of its schema, until `completeDocument` replaces it. */
export const ENUM_NAME = 'x-enum-name';

/** Adds to the document of `@nestjs/swagger` what its decorators cannot express. */
export function completeDocument(document: OpenAPIObject): void {
  const schemas: Schemas = document.components?.schemas ?? {};
  replaceIn(document as unknown as Node, unwrapped);
  replaceIn(document.paths, (node) => enumReference(node, schemas));
  closeSchemas(document, schemas);
  for (const { method, operation } of operationsOf(document)) {
    describeBodyLimit(operation);
    describeAccess(method, operation);
  }
}

function operationsOf({ paths }: OpenAPIObject): { method: string; operation: OperationObject }[] {
  return Object.values(paths).flatMap((item) =>
    METHODS.flatMap((method) => (item[method] === undefined ? [] : [{ method, operation: item[method] }])),
  );
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
  return { ...rest, oneOf: [reference, { type: 'object', nullable: true, enum: [null] }] };
}

/** The reference to the schema of an enum. An enum that only optional properties use has no schema. */
function enumReference(node: Node, schemas: Schemas): Node | undefined {
  const { [ENUM_NAME]: name, ...values } = node;
  if (typeof name !== 'string') return undefined;
  return name in schemas ? { $ref: `#/components/schemas/${name}` } : values;
}

/**
 * Sets `additionalProperties: false` in request bodies, whose unknown properties are 400, and in classes with
 * `ApiClosed`. Other schemas stay open, so that a later version can add properties.
 */
function closeSchemas(document: OpenAPIObject, schemas: Schemas): void {
  for (const name of bodyNames(document)) close(schemas[name]);
  for (const schema of Object.values(schemas)) {
    if (!(CLOSED in schema)) continue;
    close(schema);
    delete schema[CLOSED];
  }
}

function close(schema: Schemas[string] | undefined): void {
  if (schema !== undefined && 'type' in schema && schema.type === 'object') schema.additionalProperties ??= false;
}

function bodyNames(document: OpenAPIObject): string[] {
  return operationsOf(document).flatMap(({ operation: { requestBody } }) => {
    if (requestBody === undefined || '$ref' in requestBody) return [];
    return Object.values(requestBody.content).flatMap(({ schema }) => {
      return schema !== undefined && '$ref' in schema ? [schema.$ref.slice('#/components/schemas/'.length)] : [];
    });
  });
}

/** Writes the limit of `@AcceptsBody()` into the descriptions of the body and of the 413. */
function describeBodyLimit(operation: OperationObject): void {
  const limit = (operation as unknown as Node)[LIMIT_EXTENSION];
  if (typeof limit !== 'number') return;
  const length = lengthOf(limit);
  const { requestBody, responses } = operation;
  if (requestBody !== undefined && 'content' in requestBody) requestBody.description = `At most ${length}.`;
  const standard = responses['413'] ?? { description: `The body is larger than ${lengthOf(BODY_LIMIT)}` };
  const text = JSON.stringify(standard).replaceAll(lengthOf(BODY_LIMIT), length);
  responses['413'] = JSON.parse(text) as ResponseObject;
}

/** Writes the rule of `@Scopes()` or `@Public()` as the security of an operation. */
function describeAccess(method: string, operation: OperationObject): void {
  const node = operation as unknown as Node;
  const { [ACCESS_EXTENSION]: access } = node;
  delete node[ACCESS_EXTENSION];
  if (access === 'public') describePublic(method, operation);
  else if (access !== undefined) operation.security = [{ bearer: [] }];
}

/** Describes a public operation. Only a GET checks a token that is sent; shared caches may store its success. */
function describePublic(method: string, operation: OperationObject): void {
  operation.security = method === 'get' ? [{}, { bearer: [] }] : [{}];
  delete operation.responses['403'];
  const unauthorized = operation.responses['401'];
  if (unauthorized !== undefined && 'content' in unauthorized) {
    delete unauthorized.content?.['application/json']?.examples?.['absent'];
  }
  for (const response of Object.values(operation.responses)) {
    if (response === undefined || '$ref' in response) continue;
    const { Vary: vary } = response.headers ?? {};
    if (vary === undefined || !('$ref' in vary) || vary.$ref !== '#/components/headers/Vary') continue;
    delete response.headers!['Vary'];
    response.headers!['Cache-Control'] = { $ref: '#/components/headers/Public-Cache-Control' };
  }
}
