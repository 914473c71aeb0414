import type { OpenAPIObject } from '@nestjs/swagger';
import { CLOSED } from './closed.decorator.js';
import { operationsOf } from './document-operations.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

/**
 * Closes the bodies of requests, since a request with further properties is 400, and what `ApiClosed` marks. All other
 * schemas stay open, errors first of all: clients in use must bear with a property that a later version adds.
 */
export function closeSchemas(document: OpenAPIObject): void {
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
