import type { OpenAPIObject } from '@nestjs/swagger';
import { BODY_LIMIT, lengthOf, LIMIT_EXTENSION } from '../http/body/body-limit.js';
import { ACCESS_EXTENSION } from '../auth/scopes.decorator.js';
import { CLOSED } from './closed.decorator.js';

type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']>;
type ResponseObject = OperationObject['responses'][string];
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

interface Node {
  [key: string]: unknown;
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'] as const;

/** The mark of an enum in a list parameter, with the name of its schema, until `completeDocument` replaces it. */
export const ENUM_NAME = 'x-enum-name';

/** Adds to the document of `@nestjs/swagger` what its decorators cannot express. */
export function completeDocument(document: OpenAPIObject): void {
  unwrapReferences(document as unknown as Node);
  referToEnums(document.paths, document.components?.schemas ?? {});
  closeSchemas(document);
  describeBodyLimits(document);
  describeAccess(document);
  listErrorCodes(document);
}

function operationsOf({ paths }: OpenAPIObject): OperationObject[] {
  return Object.values(paths).flatMap((item) =>
    METHODS.map((method) => item[method]).filter((one) => one !== undefined),
  );
}

/**
 * Replaces each `{ allOf: [{ $ref }] }` by the `$ref`. `@nestjs/swagger` wraps named enums so, and generators of
 * clients make a type for each wrapper. A nullable one becomes `oneOf` with null, which `allOf` would exclude.
 */
function unwrapReferences(node: Node): void {
  for (const [key, value] of Object.entries(node)) {
    if (typeof value !== 'object' || value === null) continue;
    const reference = onlyReference(value as Node);
    if (reference !== undefined && 'nullable' in value) {
      const { allOf: _, nullable: _nullable, type: _type, ...others } = value as Node;
      node[key] = { ...others, oneOf: [reference, { type: 'object', nullable: true, enum: [null] }] };
    } else if (reference === undefined) unwrapReferences(value as Node);
    else node[key] = reference;
  }
}

/** Replaces the values of an enum by a reference to its schema. An enum of optional properties alone has no schema. */
function referToEnums(node: Node, schemas: Schemas): void {
  for (const [key, value] of Object.entries(node)) {
    if (typeof value !== 'object' || value === null) continue;
    const { [ENUM_NAME]: name, ...values } = value as Node;
    if (typeof name !== 'string') referToEnums(value as Node, schemas);
    else node[key] = name in schemas ? { $ref: `#/components/schemas/${name}` } : values;
  }
}

function onlyReference(node: Node): Node | undefined {
  const { allOf, nullable, ...others } = node;
  if (!Array.isArray(allOf) || allOf.length !== 1) return undefined;
  if (nullable === undefined && Object.keys(others).length > 0) return undefined;
  const [only] = allOf as Node[];
  return only !== undefined && '$ref' in only ? only : undefined;
}

/**
 * Sets `additionalProperties: false` in request bodies, whose unknown properties are 400, and in classes with
 * `ApiClosed`. Other schemas stay open, so that a later version can add properties.
 */
function closeSchemas(document: OpenAPIObject): void {
  const schemas: Schemas = document.components?.schemas ?? {};
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
  return operationsOf(document).flatMap(({ requestBody }) => {
    if (requestBody === undefined || '$ref' in requestBody) return [];
    return Object.values(requestBody.content).flatMap(({ schema }) => {
      return schema !== undefined && '$ref' in schema ? [schema.$ref.slice('#/components/schemas/'.length)] : [];
    });
  });
}

/** Writes the limit of `@AcceptsBody()` into the descriptions of the body and of the 413. */
function describeBodyLimits(document: OpenAPIObject): void {
  for (const operation of operationsOf(document)) {
    const limit = (operation as unknown as Node)[LIMIT_EXTENSION];
    if (typeof limit !== 'number') continue;
    const length = lengthOf(limit);
    const { requestBody, responses } = operation;
    if (requestBody !== undefined && 'content' in requestBody) requestBody.description = `At most ${length}.`;
    const standard = responses['413'] ?? { description: `The body is larger than ${lengthOf(BODY_LIMIT)}` };
    const text = JSON.stringify(standard).replaceAll(lengthOf(BODY_LIMIT), length);
    responses['413'] = JSON.parse(text) as ResponseObject;
  }
}

/** Writes the rule of `@Scopes()` or `@Public()` as the security of each operation. */
function describeAccess({ paths }: OpenAPIObject): void {
  for (const [method, operation] of Object.values(paths).flatMap((item) => Object.entries(item as Node))) {
    if (!METHODS.includes(method as 'get')) continue;
    const { [ACCESS_EXTENSION]: access } = operation as Node;
    delete (operation as Node)[ACCESS_EXTENSION];
    if (access === 'public') describePublic(method, operation as OperationObject);
    else if (access !== undefined) (operation as OperationObject).security = [{ bearer: [] }];
  }
}

function deleteExample({ responses }: OperationObject, status: string, name: string): void {
  const response = responses[status];
  if (response !== undefined && 'content' in response) delete response.content?.['application/json']?.examples?.[name];
}

/** Only a GET checks a token that is sent. Shared caches may store its successful responses. */
function describePublic(method: string, operation: OperationObject): void {
  operation.security = method === 'get' ? [{}, { bearer: [] }] : [{}];
  delete operation.responses['403'];
  deleteExample(operation, '401', 'absent');
  for (const response of Object.values(operation.responses)) {
    if (response === undefined || '$ref' in response) continue;
    const { Vary: vary } = response.headers ?? {};
    if (vary === undefined || !('$ref' in vary) || vary.$ref !== '#/components/headers/Vary') continue;
    delete response.headers!['Vary'];
    response.headers!['Cache-Control'] = { $ref: '#/components/headers/Public-Cache-Control' };
  }
}

/** Adds the error codes in the examples of each operation to its description. */
function listErrorCodes(document: OpenAPIObject): void {
  for (const operation of operationsOf(document)) {
    const codes = Object.entries(operation.responses).flatMap(([status, response]) => {
      const found = codesOf(response);
      return found.length > 0 ? [`${status} ${found.map((code) => `\`${code}\``).join(' or ')}`] : [];
    });
    if (codes.length === 0) continue;
    operation.description = [operation.description, `Error codes: ${codes.join(', ')}.`].filter(Boolean).join('\n\n');
  }
}

function codesOf(response: ResponseObject): string[] {
  if (response === undefined || '$ref' in response) return [];
  const examples = Object.values(response.content?.['application/json']?.examples ?? {});
  const codes = examples.map((example) => (example as { value?: { errorCode?: string } }).value?.errorCode);
  return [...new Set(codes.filter((code) => code !== undefined))];
}
