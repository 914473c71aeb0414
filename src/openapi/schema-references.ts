import type { OpenAPIObject } from '@nestjs/swagger';

interface Node {
  [key: string]: unknown;
}

/**
 * Makes every `{ allOf: [{ $ref }] }` the `$ref` alone. `@nestjs/swagger` wraps named enums so, to leave place for other
 * keywords; without any, generators make a type of its own for each wrapper.
 */
export function unwrapReferences(document: OpenAPIObject): void {
  unwrapIn(document as unknown as Node);
}

function unwrapIn(node: Node): void {
  for (const [key, value] of Object.entries(node)) {
    if (typeof value !== 'object' || value === null) continue;
    const reference = onlyReference(value as Node);
    if (reference === undefined) unwrapIn(value as Node);
    else node[key] = reference;
  }
}

function onlyReference(node: Node): Node | undefined {
  const { allOf, ...others } = node;
  if (!Array.isArray(allOf) || allOf.length !== 1 || Object.keys(others).length > 0) return undefined;
  const [only] = allOf as Node[];
  return only !== undefined && '$ref' in only ? only : undefined;
}
