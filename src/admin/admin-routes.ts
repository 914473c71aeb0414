import { readFileSync } from 'node:fs';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { CSS, HTML, PAGE_SECURITY_POLICY, SCRIPT, serveFiles, type StaticFile } from '../http/routing/static-file.js';
import { openApiDocument } from '../openapi/document.js';
import { AdminController } from './admin.controller.js';

/** Also makes browsers reject strings that are assigned to `innerHTML` and similar properties (Trusted Types). */
const SECURITY_POLICY = `${PAGE_SECURITY_POLICY}; require-trusted-types-for 'script'; trusted-types 'none'`;

const text = (name: string): string => readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8');

const FILES: Readonly<Record<string, () => StaticFile>> = {
  '/admin': () => ({ type: HTML, content: text('admin.html') }),
  // The files are relative to the page, because a proxy may add a prefix.
  '/admin/': () => ({ type: HTML, content: text('admin.html').replaceAll('"admin/', '"') }),
  '/admin/admin.css': () => ({ type: CSS, content: text('admin.css') }),
  '/admin/admin.js': () => ({ type: SCRIPT, content: text('admin.js') }),
};

/** Serves the page at `/admin`. It needs no token; the routes of its data do. */
export function serveAdminPage(app: NestFastifyApplication): void {
  let document: OpenAPIObject | undefined;
  app.get(AdminController, { strict: false }).makeDocument = () => (document ??= openApiDocument(app));
  const fastify: FastifyInstance = app.getHttpAdapter().getInstance();
  serveFiles(fastify, FILES, { 'content-security-policy': SECURITY_POLICY });
}
