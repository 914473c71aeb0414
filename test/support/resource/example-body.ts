import type { Service } from '../service.js';

/** A valid body of POST, from the examples in the OpenAPI document. */
export async function exampleBody({ url }: Pick<Service, 'url'>, path: string): Promise<Record<string, unknown>> {
  const { paths, components } = (await (await fetch(`${url}/openapi.json`)).json()) as any;
  const schemaOf = ({ $ref, ...schema }: any): any => ($ref ? components.schemas[$ref.split('/').at(-1)] : schema);
  const { properties } = schemaOf(paths[path].post.requestBody.content['application/json'].schema);
  return Object.fromEntries(Object.entries<any>(properties).map(([name, schema]) => [name, schemaOf(schema).example]));
}
