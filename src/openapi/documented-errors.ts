import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { forbidden, InvalidTokenError, unauthenticated } from '../auth/auth-errors.js';
import { DatabaseUnavailableError, OutcomeUnknownError } from '../database/errors.js';
import { BODY_LIMIT, lengthOf } from '../http/body/body-limit.js';
import { type ApiError, invalidHost, tooManyFields } from '../http/errors/api-error.js';
import { type ErrorBody, errorResponse, standardError } from '../http/errors/error-response.js';
import { inMaintenance } from '../http/request.guard.js';
import { tooManyRequests } from '../rate-limit/rate-limit.guard.js';
import { ErrorDto } from './error.dto.js';
import { errorHeaders, type HeaderName, REQUEST_ID_EXAMPLE } from './header-fields.js';

export type DescribedError = ReturnType<typeof described>;

/** An error status of an operation, with its bodies by name: `errors` of one status as the service throws them. */
export function described(description: string, errors: Readonly<Record<string, Error>>, ...headers: HeaderName[]) {
  const examples: Record<string, ErrorBody> = {};
  for (const [name, error] of Object.entries(errors)) examples[name] = errorResponse(error, REQUEST_ID_EXAMPLE).body;
  return { status: Object.values(examples)[0]!.statusCode, description, examples, headers };
}

/** @param error as a feature throws it, with values for an example */
export function describedError(error: ApiError, description: string): DescribedError {
  return described(description, { [error.errorCode]: error });
}

/** Documents the errors of an operation, including the errors of all operations with a token. */
export function ApiErrors(scope: string, ...errors: DescribedError[]): MethodDecorator {
  const all = [...errors, ...commonErrors(scope), ...PROTOCOL_ERRORS];
  const statuses = new Set(all.map(({ status }) => status));
  const responses = [...statuses].map((status) => responseTo(all.filter((error) => error.status === status)));
  return applyDecorators(ApiExtraModels(ErrorDto), ...responses);
}

function commonErrors(scope: string): readonly DescribedError[] {
  const expired = new InvalidTokenError('The token has expired');
  const unavailable = new DatabaseUnavailableError('The database is busy');
  const outcomeUnknown = new OutcomeUnknownError('The response to COMMIT was lost');
  return [
    described('No valid token', { absent: unauthenticated(), expired }, 'WWW-Authenticate'),
    described(`The token lacks the scope \`${scope}\``, { scope: forbidden([scope]) }, 'WWW-Authenticate'),
    described(
      'The subject or the address sends too many requests; the operators of the service set the limits',
      { limited: tooManyRequests('subject', 10, 60, 42) },
      'Retry-After',
    ),
    described('The service failed', { failed: standardError(500) }),
    scope.endsWith(':write')
      ? described(
          'The service or its database is busy or cannot be reached, or is in maintenance, and nothing has changed; or, with `OUTCOME_UNKNOWN`, the ' +
            'confirmation of the change was lost, and it may have been made or not. A POST with an `Idempotency-Key` can be ' +
            'repeated in each case; then the response has `Retry-After`',
          { unavailable, maintenance: inMaintenance(), outcomeUnknown },
          'Retry-After',
        )
      : described('The service or its database is busy or cannot be reached', { unavailable }, 'Retry-After'),
  ];
}

/** Errors of the request as HTTP, before any operation (`connections/protocol-error.ts` and Node's parser). */
const PROTOCOL_ERRORS: readonly DescribedError[] = [
  described(standardError(400).message, { http: standardError(400), host: invalidHost() }),
  described(standardError(408).message, { late: standardError(408) }),
  described(`The body is larger than ${lengthOf(BODY_LIMIT)}`, { large: standardError(413) }),
  described('The Expect header is not 100-continue', { expectation: standardError(417) }),
  described('The header fields are too large, or too many', { size: standardError(431), number: tooManyFields() }),
  described('The Transfer-Encoding is not chunked', { coding: standardError(501) }),
  described('The protocol is neither HTTP/1.1 nor HTTP/1.0', { version: standardError(505) }),
];

/** Describes the response for all errors of one status, because a document has one response for each status. */
function responseTo(errors: readonly DescribedError[]): MethodDecorator & ClassDecorator {
  const bodies = errors.flatMap(({ examples }) => Object.entries(examples));
  const examples = bodies.map(([name, value]) => [name, { summary: value.message, value }]);
  return ApiResponse({
    status: errors[0]!.status,
    description: errors.map(({ description }) => description).join('. '),
    headers: errorHeaders(errors.flatMap(({ headers }) => headers)),
    content: {
      'application/json': {
        schema: { $ref: getSchemaPath(ErrorDto) },
        examples: Object.fromEntries(examples) as Record<string, object>,
      },
    },
  });
}
