import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { SERVICE_TITLE } from '../config/service-name.js';
import { CSS, HTML, PAGE_SECURITY_POLICY, SCRIPT, serveFiles, type StaticFile } from '../http/routing/static-file.js';
import { openApiDocument } from './document.js';

const JSON_TYPE = 'application/json; charset=utf-8';

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

/** The paths of the docs with their files. Other files of Swagger UI are not served. */
const DOCS: Readonly<Record<string, () => StaticFile>> = {
  '/docs': () => ({ type: HTML, content: docsPage() }),
  // The files are relative to the page, because a proxy may add a prefix.
  '/docs/': () => ({ type: HTML, content: docsPage().replaceAll('"docs/', '"') }),
  '/docs/swagger-initializer.js': () => ({ type: SCRIPT, content: DOCS_INITIALIZER }),
  '/docs/swagger-ui-bundle.js': () => swaggerUiFile('swagger-ui-bundle.js', SCRIPT),
  '/docs/swagger-ui.css': () => swaggerUiFile('swagger-ui.css', CSS),
  '/docs/index.css': () => swaggerUiFile('index.css', CSS),
  '/docs/favicon-32x32.png': () => swaggerUiFile('favicon-32x32.png', 'image/png'),
};

/** Serves the OpenAPI document at `/openapi.json` and Swagger UI at `/docs`, from memory. */
export function serveDocs(app: NestFastifyApplication): void {
  const fastify: FastifyInstance = app.getHttpAdapter().getInstance();
  serveFiles(fastify, {
    '/openapi.json': () => ({ type: JSON_TYPE, content: JSON.stringify(openApiDocument(app)) }),
  });
  serveFiles(fastify, DOCS, { 'content-security-policy': PAGE_SECURITY_POLICY });
}

function swaggerUiFile(name: string, type: string): StaticFile {
  return { type, content: readFileSync(resolve(`swagger-ui-dist/${name}`)) };
}
