import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { SERVICE_TITLE } from '../config/service-name.js';
import { type Files, page, PAGE_SECURITY_POLICY, serveFiles } from '../http/routing/static-file.js';
import { openApiDocument } from './document.js';

const { resolve } = createRequire(import.meta.url);

/** The page of Swagger UI, without inline scripts and styles, which its Content-Security-Policy forbids. */
const docsPage = (): string =>
  readFileSync(new URL('page/docs.html', import.meta.url), 'utf8').replace('API documentation', SERVICE_TITLE);

/**
 * The script that starts Swagger UI. The token is not stored (persistAuthorization), the query cannot select another
 * document (queryConfigEnabled), and the document is not sent to a validator (validatorUrl).
 */
const DOCS_INITIALIZER = `SwaggerUIBundle({
  url: new URL('../openapi.json', document.currentScript.src).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: false,
  queryConfigEnabled: false,
  validatorUrl: null,
});
`;

const swaggerUi = (name: string) => (): Buffer => readFileSync(resolve(`swagger-ui-dist/${name}`));

/** The paths of the docs with their files. Other files of Swagger UI are not served. */
const DOCS: Files = {
  ...page('docs', docsPage),
  '/docs/swagger-initializer.js': () => DOCS_INITIALIZER,
  '/docs/swagger-ui-bundle.js': swaggerUi('swagger-ui-bundle.js'),
  '/docs/swagger-ui.css': swaggerUi('swagger-ui.css'),
  '/docs/index.css': swaggerUi('index.css'),
  '/docs/favicon-32x32.png': swaggerUi('favicon-32x32.png'),
};

/** Serves the OpenAPI document at `/openapi.json` and Swagger UI at `/docs`, from memory. */
export function serveDocs(app: NestFastifyApplication): void {
  const fastify: FastifyInstance = app.getHttpAdapter().getInstance();
  serveFiles(fastify, { '/openapi.json': () => JSON.stringify(openApiDocument(app)) });
  serveFiles(fastify, DOCS, { 'content-security-policy': PAGE_SECURITY_POLICY });
}
