import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, type SwaggerDocumentOptions, SwaggerModule } from '@nestjs/swagger';
import { SERVICE_TITLE } from '../config/service-name.js';
import { serviceVersion } from '../config/service-version.js';
import { completeDocument } from './complete-document.js';
import { headerComponents, REQUEST_ID_PARAMETER } from './header-fields.js';
import { type ReportedResource, ReportedResources } from '../management/reported-resources.js';

const RESPONSES = [
  'Every error has the same shape; its `errorCode` does not change.',
  'HEAD returns what GET would, without the body; OPTIONS names the methods of a path, and needs no token.',
  'Another path is 404, another method 405.',
].join(' ');

const BEARER = [
  'A JWT (RFC7519, checked as RFC8725 says), sent as `Authorization: Bearer <token>`. The operators of the service say who issues it and how to',
  'get one. It needs an expiry (`exp`), a subject (`sub`), and the scope of the operation.',
].join(' ');

/** The introduction of the document: the stored resources, the scopes, and the general rules of responses. */
function descriptionOf(resources: readonly ReportedResource[]): string {
  const scopes = resources.map(
    ({ resource }) => `\`${resource}:read\` for reading and \`${resource}:write\` for writing`,
  );
  const stored = resources.length > 0 ? [`Stores ${resources.map(({ text }) => text).join(' and ')}.`] : [];
  const bearer = 'Requests carry a JWT in `Authorization: Bearer <token>`';
  const permission = scopes.length > 0 ? `${bearer}, with the scope ${scopes.join(', ')}.` : `${bearer}.`;
  return [...stored, permission, RESPONSES].join(' ');
}

/** The part of https://standardschema.dev that writes JSON Schema. */
interface StandardSchema {
  readonly '~standard': { readonly jsonSchema?: Record<'input' | 'output', (options: object) => unknown> };
}

/** Shows a schema that its library cannot write as JSON Schema, such as one with `z.date()`, as any value. */
const standardSchemaConverter: SwaggerDocumentOptions['standardSchemaConverter'] = (schema, { schemaType }) => {
  try {
    (schema as StandardSchema)['~standard'].jsonSchema?.[schemaType]({ target: 'openapi-3.0' });
    return undefined;
  } catch {
    return { schema: {} };
  }
};

export function openApiDocument(app: NestFastifyApplication): OpenAPIObject {
  const resources = app.get(ReportedResources, { strict: false }).all;
  const builder = new DocumentBuilder()
    .setTitle(SERVICE_TITLE)
    .setDescription(descriptionOf(resources))
    .setVersion(serviceVersion())
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer('/', 'This service')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: BEARER })
    .addGlobalParameters(REQUEST_ID_PARAMETER);
  for (const { resource, text } of resources) builder.addTag(resource, `The stored ${text}`);
  const base = builder.build();
  // `setContact` requires an address, which the code does not know.
  base.info.contact = { name: 'The operators of this service' };
  const document = SwaggerModule.createDocument(app, base, { standardSchemaConverter });
  document.components = { ...document.components, headers: headerComponents(resources[0]?.resource ?? 'records') };
  completeDocument(document);
  return document;
}
