import type { Service } from '../service.js';

/** A body that POST of a resource takes, of the examples that the OpenAPI document has of its properties. */
export async function exampleBody({ url }: Pick<Service, 'url'>, path: string): Promise<Record<string, unknown>> {
  const { paths, components } = (await (await fetch(`${url}/openapi.json`)).json()) as any;
  const schemaOf = ({ $ref, ...schema }: any): any => ($ref ? components.schemas[$ref.split('/').at(-1)] : schema);
  const { properties } = schemaOf(paths[path].post.requestBody.content['application/json'].schema);
  return Object.fromEntries(Object.entries<any>(properties).map(([name, schema]) => [name, schemaOf(schema).example]));
}
