import { readFileSync } from 'node:fs';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { type Files, page, PAGE_SECURITY_POLICY, serveFiles } from '../http/routing/static-file.js';
import { openApiDocument } from '../openapi/document.js';
import { AdminController } from './admin.controller.js';

/** Also makes browsers reject strings that are assigned to `innerHTML` and similar properties (Trusted Types). */
const SECURITY_POLICY = `${PAGE_SECURITY_POLICY}; require-trusted-types-for 'script'; trusted-types 'none'`;

const text = (name: string) => (): string => readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8');

const FILES: Files = {
  ...page('admin', text('admin.html')),
  '/admin/admin.css': text('admin.css'),
  '/admin/admin.js': text('admin.js'),
};

/** Serves the page at `/admin`. It needs no token; the routes of its data do. */
export function serveAdminPage(app: NestFastifyApplication): void {
  let document: OpenAPIObject | undefined;
  app.get(AdminController, { strict: false }).makeDocument = () => (document ??= openApiDocument(app));
  const fastify: FastifyInstance = app.getHttpAdapter().getInstance();
  serveFiles(fastify, FILES, { 'content-security-policy': SECURITY_POLICY });
}
