import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

/** The OpenAPI document of all modules of the application. */
export function openApiDocument(app: NestFastifyApplication): OpenAPIObject {
  const description = [
    'Stores cookie records. Every request bears a JWT in `Authorization: Bearer <token>`, with the scope',
    '`cookies:read` for reading and `cookies:write` for writing.',
    'Every error has the same shape; its `errorCode` does not change.',
    'HEAD answers what GET would, without the body; OPTIONS tells the methods of a path.',
  ].join(' ');
  const base = new DocumentBuilder()
    .setTitle('Cookie Storage Service')
    .setDescription(description)
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .setContact('The operators of this service', '', '')
    .addServer('/', 'This service')
    .addTag('cookies', 'The stored cookies')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A JWT; see `npm run token`' })
    .addGlobalParameters({
      name: 'X-Request-Id',
      in: 'header',
      required: false,
      description: 'Names the request; the answer repeats it. Without it the service makes one.',
      schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
    })
    .build();
  return SwaggerModule.createDocument(app, base);
}

/** Serves the document at `/openapi.json` and Swagger UI at `/docs`, with its assets from this machine. */
export function serveDocs(app: NestFastifyApplication): void {
  SwaggerModule.setup('docs', app, () => openApiDocument(app), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Cookie Storage Service',
    swaggerOptions: { persistAuthorization: true },
  });
}
