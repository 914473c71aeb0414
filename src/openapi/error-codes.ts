import type { OpenAPIObject } from '@nestjs/swagger';
import { type OperationObject, operationsOf } from './document-operations.js';

type ResponseObject = OperationObject['responses'][string];

/** Adds to the description of every operation the error codes it may respond with: those of its examples. */
export function listErrorCodes(document: OpenAPIObject): void {
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
  const codes = examples.map((example) => {
    const { value } = example as { value?: { errorCode?: string } };
    return value?.errorCode;
  });
  return [...new Set(codes.filter((code) => code !== undefined))];
}
