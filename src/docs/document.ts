import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { HEADERS, REQUEST_ID_PARAMETER } from '../http/openapi.js';
import { closeSchemas } from './closed-schemas.js';
import { listErrorCodes } from './error-codes.js';
import { unwrapReferences } from './references.js';

const DESCRIPTION = [
  'Stores cookie records. Every request bears a JWT in `Authorization: Bearer <token>`, with the scope',
  '`cookies:read` for reading and `cookies:write` for writing.',
  'Every error has the same shape; its `errorCode` does not change.',
  'HEAD answers what GET would, without the body; OPTIONS tells the methods of a path, and needs no token.',
  'Another path is 404, another method 405.',
].join(' ');

const BEARER = [
  'A JWT (RFC 7519), sent as `Authorization: Bearer <token>`. The operators of the service say who issues it and how to',
  'get one. It needs an expiry (`exp`), a subject (`sub`), and the scope of the operation.',
].join(' ');

/** The OpenAPI document of all modules of the application. */
export function openApiDocument(app: NestFastifyApplication): OpenAPIObject {
  const base = new DocumentBuilder()
    .setTitle('Cookie Storage Service')
    .setDescription(DESCRIPTION)
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer('/', 'This service')
    .addTag('cookies', 'The stored cookies')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: BEARER })
    .addGlobalParameters(REQUEST_ID_PARAMETER)
    .build();
  // Not with `setContact`, which wants an address too: the operator has it, not the code.
  base.info.contact = { name: 'The operators of this service' };
  const document = SwaggerModule.createDocument(app, base);
  document.components = { ...document.components, headers: HEADERS };
  unwrapReferences(document);
  closeSchemas(document);
  listErrorCodes(document);
  return document;
}
