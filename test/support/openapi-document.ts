import { Ajv, type ValidateFunction } from 'ajv';
import type { Answer, Endpoint } from './service.js';

/** Header fields of HTTP itself, which OpenAPI documents do not describe. Add those of your plugins, such as helmet. */
const HTTP_FIELDS = ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'];

/** The OpenAPI document of a running service, with which responses and bodies are compared. */
export class OpenApiDocument {
  private readonly ajv = new Ajv({ strict: false, validateFormats: false });
  /** Validators by schema and by whether its components are closed. Each takes milliseconds to compile. */
  private readonly validators = new Map<string, ValidateFunction>();
  /** The components with closed schemas: an undescribed property of a response is an error. */
  private readonly closed: object;

  private constructor(readonly json: any) {
    this.closed = withClosedSchemas(json.components);
  }

  static async of({ url }: Endpoint): Promise<OpenApiDocument> {
    return new OpenApiDocument(await (await fetch(`${url}/openapi.json`)).json());
  }

  /** @param path such as `/cookies/{id}` */
  operation(method: string, path: string): any {
    return this.json.paths[path]?.[method.toLowerCase()];
  }

  /** The error codes in the examples of an operation. */
  errorCodes(method: string, path: string): string[] {
    return Object.values<any>(this.operation(method, path).responses)
      .flatMap(({ content }) => Object.values<any>(content?.['application/json']?.examples ?? {}))
      .flatMap(({ value }) => value?.errorCode ?? []);
  }

  /** The referenced schema, or the schema itself. */
  resolve(schema: any): any {
    return schema.$ref === undefined ? schema : this.json.components.schemas[schema.$ref.split('/').at(-1)];
  }

  bodySchema(method: string, path: string): any {
    const schema = this.operation(method, path)?.requestBody?.content['application/json']?.schema;
    if (schema !== undefined) return schema;
    const missing = `${method.toUpperCase()} ${path} with a JSON body`;
    throw new Error(`The document has no ${missing}; describeResource needs the routes that npm run generate writes`);
  }

  isValid(schema: object, value: unknown): boolean {
    return this.validatorOf(schema)(value);
  }

  /**
   * Expects that a response has the header fields and the body of its description.
   * @param description of this status in the operation
   */
  expectDescribed(answer: Answer, description: any): void {
    if (description === undefined) throw new Error(`${answer.status} is not described: ${answer.text}`);
    expect([...this.wrongFields(answer, description), ...this.wrongBody(answer, description)]).toEqual([]);
  }

  /** `expectDescribed` for header fields alone, as in a response to HEAD. */
  expectFields(answer: Answer, description: any): void {
    expect(this.wrongFields(answer, description)).toEqual([]);
  }

  private wrongFields({ headers }: Answer, description: any): string[] {
    const described = new Map<string, any>();
    for (const [name, { $ref }] of Object.entries<any>(description.headers)) {
      described.set(name.toLowerCase(), this.json.components.headers[$ref.split('/').at(-1)]);
    }
    const isRight = (name: string, { required, schema }: any): boolean => {
      const text = headers.get(name);
      if (text === null) return !required;
      return this.isValid(schema, schema.type === 'integer' ? Number(text) : text);
    };
    const present = [...headers.keys()].filter((name) => !HTTP_FIELDS.includes(name));
    return [
      ...present.filter((name) => !described.has(name)).map((name) => `${name} is not described`),
      ...[...described].filter((each) => !isRight(...each)).map(([name]) => `${name} is wrong: ${headers.get(name)}`),
    ];
  }

  private wrongBody({ headers, text, body }: Answer, description: any): string[] {
    if (description.content === undefined) return text === '' ? [] : [`a body is not described: ${text}`];
    const [mediaType] = headers.get('content-type')!.split(';') as [string];
    const content = description.content[mediaType];
    if (content === undefined) return [`${mediaType} is not described`];
    const validate = this.validatorOf(content.schema, true);
    return validate(body) ? [] : [this.ajv.errorsText(validate.errors)];
  }

  private validatorOf(schema: object, isClosed = false): ValidateFunction {
    const key = JSON.stringify([schema, isClosed]);
    const components = isClosed ? this.closed : this.json.components;
    const validator = this.validators.get(key) ?? this.ajv.compile({ allOf: [schema], components });
    this.validators.set(key, validator);
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
