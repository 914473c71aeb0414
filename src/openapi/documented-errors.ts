import { STATUS_CODES } from 'node:http';
import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { codeOfStatus } from '../http/errors/api-error.js';
import { errorResponse, OUTCOME_UNKNOWN } from '../http/errors/error-response.js';
import type { DescribedError, ErrorExample } from './described-error.js';
import { ErrorDto } from './error.dto.js';
import { PROTOCOL_ERRORS } from './protocol-error-responses.js';
import { errorHeaders, REQUEST_ID_EXAMPLE } from './response-header-components.js';

/** The example of the body that an error gets. */
export function exampleOf(error: Error): ErrorExample {
  const { message, errorCode, details } = errorResponse(error, REQUEST_ID_EXAMPLE).body;
  return { message, errorCode, details };
}

/** Errors of any operation behind a token. */
const commonErrors = (scope: string): readonly DescribedError[] => [
  {
    status: 401,
    description: 'No valid token',
    examples: {
      absent: { message: 'Send a token: Authorization: Bearer <JWT>', errorCode: 'UNAUTHENTICATED' },
      expired: { message: 'The token has expired', errorCode: 'INVALID_TOKEN' },
    },
    headers: ['WWW-Authenticate'],
  },
  {
    status: 403,
    description: `The token lacks the scope \`${scope}\``,
    examples: { scope: { message: `The token needs the scope ${scope}`, errorCode: 'INSUFFICIENT_SCOPE' } },
    headers: ['WWW-Authenticate'],
  },
  {
    status: 500,
    description: 'The service failed',
    examples: {
      failed: { message: 'The service failed at this request; its log has the details under this request id' },
    },
  },
  {
    status: 503,
    description: scope.endsWith(':write')
      ? 'The service or its database cannot be reached at the moment, and nothing has changed; or, with `OUTCOME_UNKNOWN`, the ' +
        'confirmation of the change was lost, and it may have been made or not'
      : 'The service or its database cannot be reached at the moment',
    examples: {
      unavailable: { message: 'The storage cannot be reached at the moment; try again' },
      ...(scope.endsWith(':write') && {
        outcomeUnknown: { message: OUTCOME_UNKNOWN, errorCode: 'OUTCOME_UNKNOWN' },
      }),
    },
    headers: ['Retry-After'],
  },
];

/** Documents the errors of an operation, together with the errors of every operation that needs a scope. */
export function ApiErrors(scope: string, ...errors: DescribedError[]): MethodDecorator {
  const all = mergedByStatus([...errors, ...commonErrors(scope), ...PROTOCOL_ERRORS]);
  return applyDecorators(ApiExtraModels(ErrorDto), ...all.map(describe));
}

/** One description for each status: of those that share it, the descriptions follow one another. */
function mergedByStatus(errors: readonly DescribedError[]): DescribedError[] {
  const merged = new Map<number, DescribedError>();
  for (const error of errors) {
    const other = merged.get(error.status);
    merged.set(error.status, other === undefined ? error : merge(other, error));
  }
  return [...merged.values()];
}

function merge(one: DescribedError, other: DescribedError): DescribedError {
  return {
    status: one.status,
    description: `${one.description}. ${other.description}`,
    examples: { ...one.examples, ...other.examples },
    headers: [...(one.headers ?? []), ...(other.headers ?? [])],
  };
}

function describe({ status, description, examples, headers }: DescribedError): MethodDecorator & ClassDecorator {
  const bodies = Object.entries(examples).map(([name, { message, errorCode = codeOfStatus(status), details }]) => {
    const error = STATUS_CODES[status];
    const value = {
      statusCode: status,
      error,
      message,
      errorCode,
      requestId: REQUEST_ID_EXAMPLE,
      ...(details && { details }),
    };
    return [name, { summary: message, value }];
  });
  return ApiResponse({
    status,
    description,
    headers: errorHeaders(headers),
    content: {
      'application/json': {
        schema: { $ref: getSchemaPath(ErrorDto) },
        examples: Object.fromEntries(bodies) as Record<string, object>,
      },
    },
  });
}
