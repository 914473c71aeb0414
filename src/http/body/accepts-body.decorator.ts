import { applyDecorators, SetMetadata, type Type } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiConsumes, ApiExtension, ApiExtraModels, getSchemaPath } from '@nestjs/swagger';
import { LIMIT_EXTENSION, MULTIPART } from './body-limit.js';

const ACCEPTED_BODY = 'http:accepted-body';

export interface AcceptedBody {
  /** Largest length in bytes; of a form, all parts together. */
  readonly limit: number;
  /** Media types, such as `image/png`, `image/*` or `*\/*`. Absent: JSON. */
  readonly types?: readonly string[];
  /** The DTO class of the fields beside the file of a form. */
  readonly fields?: Type;
}

export interface AcceptsBodyOptions extends Pick<AcceptedBody, 'limit' | 'fields'> {
  readonly type?: string | readonly string[];
}

/** Sets which bodies a route accepts instead of JSON of up to 16 KiB. The class of `@Body()` determines the value. */
export function AcceptsBody({ type, limit, fields }: AcceptsBodyOptions): MethodDecorator {
  const types = type === undefined ? undefined : [type].flat();
  const accepted: AcceptedBody = { limit, types, fields };
  const documentation = types === undefined ? [] : [ApiConsumes(...types), ApiBody({ schema: schemaOf(accepted) })];
  if (fields !== undefined) documentation.push(ApiExtraModels(fields));
  return applyDecorators(
    SetMetadata(ACCEPTED_BODY, accepted),
    RouteConfig({ acceptedBody: accepted }),
    ApiExtension(LIMIT_EXTENSION, limit),
    ...documentation,
  );
}

/** The bodies that a handler accepts; `undefined` without `@AcceptsBody()`. */
export function acceptedBodyOf(handler: object): AcceptedBody | undefined {
  return Reflect.getMetadata(ACCEPTED_BODY, handler) as AcceptedBody | undefined;
}

function schemaOf({ types, fields }: AcceptedBody) {
  const binary = { type: 'string', format: 'binary' };
  if (!types?.includes(MULTIPART)) return binary;
  const file = { type: 'object', properties: { file: binary }, required: ['file'] };
  return fields === undefined ? file : { allOf: [{ $ref: getSchemaPath(fields) }, file] };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    acceptedBody?: AcceptedBody;
  }
}
