import type { OpenAPIObject } from '@nestjs/swagger';

type PathItem = OpenAPIObject['paths'][string];
export type OperationObject = NonNullable<PathItem['get']>;

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'] as const;

/** All operations of a document, path by path. */
export function operationsOf({ paths }: OpenAPIObject): OperationObject[] {
  return Object.values(paths).flatMap((item) =>
    METHODS.map((method) => item[method]).filter((one) => one !== undefined),
  );
}
