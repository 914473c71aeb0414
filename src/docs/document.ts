import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { HEADERS, REQUEST_ID_PARAMETER } from '../http/openapi.js';

/** The OpenAPI document of all modules of the application. */
export function openApiDocument(app: NestFastifyApplication): OpenAPIObject {
  const description = [
    'Stores cookie records. Every request bears a JWT in `Authorization: Bearer <token>`, with the scope',
    '`cookies:read` for reading and `cookies:write` for writing.',
    'Every error has the same shape; its `errorCode` does not change.',
    'HEAD answers what GET would, without the body; OPTIONS tells the methods of a path, and needs no token.',
    'Another path is 404, another method 405.',
  ].join(' ');
  const base = new DocumentBuilder()
    .setTitle('Cookie Storage Service')
    .setDescription(description)
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer('/', 'This service')
    .addTag('cookies', 'The stored cookies')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A JWT; see `npm run token`' })
    .addGlobalParameters(REQUEST_ID_PARAMETER)
    .build();
  // Not with `setContact`, which wants an address too: whoever runs the service has it, not the code.
  base.info.contact = { name: 'The operators of this service' };
  const document = SwaggerModule.createDocument(app, base);
  document.components = { ...document.components, headers: HEADERS, schemas: closed(document.components?.schemas) };
  return document;
}

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

/** Bodies have the members that are declared and no others: a request with more is 400, and no answer has more. */
function closed(schemas: Schemas = {}): Schemas {
  for (const schema of Object.values(schemas)) {
    if ('type' in schema && schema.type === 'object') schema.additionalProperties ??= false;
  }
  return schemas;
}
