import { Ajv, type ValidateFunction } from 'ajv';
import type { Answer } from './service.js';

/** Header fields of HTTP itself, which no document describes. */
const HTTP_FIELDS = ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'];

/** The OpenAPI document of a running service, with which responses and bodies are compared. */
export class OpenApiDocument {
  private readonly ajv = new Ajv({ strict: false, validateFormats: false });
  /** Validators by the text of the schema. Most schemas are equal, and each takes milliseconds to compile. */
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly closedValidators = new Map<string, ValidateFunction>();
  /** The components with closed schemas: an undescribed property of a response is an error. */
  private readonly closed: object;

  private constructor(readonly json: any) {
    this.closed = withClosedSchemas(json.components);
  }

  static async of({ url }: { readonly url: string }): Promise<OpenApiDocument> {
    return new OpenApiDocument(await (await fetch(`${url}/openapi.json`)).json());
  }

  /** @param path such as `/cookies/{id}` */
  operation(method: string, path: string): any {
    return this.json.paths[path]?.[method.toLowerCase()];
  }

  /** The schema behind a reference, or the schema itself. */
  resolve(schema: any): any {
    return schema.$ref === undefined ? schema : this.json.components.schemas[schema.$ref.split('/').at(-1)];
  }

  /** The schema of an operation's body. */
  bodySchema(method: string, path: string): any {
    return this.operation(method, path).requestBody.content['application/json'].schema;
  }

  isValid(schema: object, value: unknown): boolean {
    return this.validatorOf(schema, this.json.components, this.validators)(value);
  }

  /**
   * Expects that a response has the header fields and the body of its description.
   * @param description of this status in the operation
   */
  expectDescribed(answer: Answer, description: any): void {
    if (description === undefined) throw new Error(`${answer.status} is not described: ${answer.text}`);
    this.expectFields(answer, description);
    if (description.content === undefined) return expect(answer.text).toBe('');
    const [mediaType] = answer.headers.get('content-type')!.split(';') as [string];
    expect(Object.keys(description.content)).toContain(mediaType);
    const validate = this.validatorOf(description.content[mediaType].schema, this.closed, this.closedValidators);
    validate(answer.body);
    expect(validate.errors).toBeNull();
  }

  /** `expectDescribed` for header fields alone, as in a response to HEAD. */
  expectFields(answer: Answer, description: any): void {
    const fields = new Map<string, any>();
    for (const [name, { $ref }] of Object.entries<any>(description.headers)) {
      fields.set(name.toLowerCase(), this.json.components.headers[$ref.split('/').at(-1)]);
    }
    const present = [...answer.headers.keys()].filter((name) => !HTTP_FIELDS.includes(name));
    expect([...fields.keys()]).toEqual(expect.arrayContaining(present));
    for (const [name, { required, schema }] of fields) {
      const text = answer.headers.get(name);
      if (required) expect([name, text]).toEqual([name, expect.any(String)]);
      if (text === null) continue;
      const value = schema.type === 'integer' ? Number(text) : text;
      expect([name, text, this.isValid(schema, value)]).toEqual([name, text, true]);
    }
  }

  private validatorOf(schema: object, components: object, made: Map<string, ValidateFunction>): ValidateFunction {
    const key = JSON.stringify(schema);
    let validator = made.get(key);
    if (validator === undefined) {
      validator = this.ajv.compile({ allOf: [schema], components });
      made.set(key, validator);
    }
    return validator;
  }
}

function withClosedSchemas(components: any): object {
  const copy = structuredClone(components);
  for (const schema of Object.values<any>(copy.schemas)) {
    if (schema.type === 'object') schema.additionalProperties = false;
  }
  return copy;
}
