/** The `Content-Type` of a request. */
export const type = (contentType: string): Record<string, string> => ({ 'content-type': contentType });
const bytes = (...values: number[]): Uint8Array => new Uint8Array(values);

/** Malformed JSON, made from a valid body. `{"x":"` begins a body that ends within its first string. */
export const MALFORMED: readonly [what: string, malformed: (json: string) => string | Uint8Array | undefined][] = [
  ['no body and no type', () => undefined],
  ['nothing', () => ''],
  ['half an object', (json) => json.slice(0, -1)],
  ['NaN', () => '{"x":NaN}'],
  ['a byte-order mark', (json) => Buffer.from(`\ufeff${json}`)],
  ['invalid UTF-8', () => Buffer.from('{"x":"\xff"}', 'latin1')],
  ['a surrogate in UTF-8', () => Buffer.concat([Buffer.from('{"x":"'), bytes(0xed, 0xa0, 0x80), Buffer.from('"}')])],
  ['UTF-16', (json) => Buffer.from(json, 'utf16le')],
  ['a form', () => 'a=b&c=d'],
];

export const NOT_OBJECTS = ['null', '[]', '"string"'];

/** Unknown properties, as JSON, with the pointers of their errors. */
export const UNKNOWN: readonly [what: string, property: string, pointer: string][] = [
  ['an id', '"id":7', '/id'],
  ['a revision', '"revision":9', '/revision'],
  ['an unknown property that is null', '"unknownProperty":null', '/unknownProperty'],
  ['a property with an empty name', '"":1', '/'],
  ['a property to be escaped in a pointer (RFC 6901)', '"a/b~c":1', '/a~1b~0c'],
  ['__proto__', '"__proto__":{}', '/__proto__'],
  ['constructor', '"constructor":{"prototype":{}}', '/constructor'],
  ['toString', '"toString":"x"', '/toString'],
];

/** JSON of types that no property accepts. */
export const STRUCTURES: readonly [what: string, json: (value: string) => string][] = [
  ['an array of its value', (value) => `[${value}]`],
  ['an empty object', () => '{}'],
  ['an object with a constructor', () => '{"constructor":{"name":"x"}}'],
  ['an object with __proto__', () => '{"__proto__":{"a":1}}'],
  ['an object with methods', () => '{"toString":"x","valueOf":1,"then":true,"toJSON":1}'],
  ['2500 objects in each other', () => `${'{"":'.repeat(2500)}1${'}'.repeat(2500)}`],
];

export const WRONG_TYPES: readonly [what: string, headers: Record<string, string>][] = [
  ['text', type('text/plain')],
  ['a form in parts', type('multipart/form-data; boundary=x')],
  ['JSON of another kind', type('application/problem+json')],
  ['something that begins like JSON', type('application/json5')],
  ['JSON in latin1', type('application/json; charset=latin1')],
  ['JSON with gzip', { 'content-encoding': 'gzip' }],
  ['JSON with several codings', { 'content-encoding': 'identity, br' }],
  ['no word', type('')],
  ['a blank inside', type('application / json')],
  ['a parameter without a value', type('application/json; charset')],
  ['two types', type('application/json, text/plain')],
];

/** Unusual but accepted media types. */
export const RIGHT_TYPES: readonly [what: string, headers: Record<string, string>][] = [
  ['a charset', type('application/json; charset=utf-8')],
  ['a charset in capitals and quotes', type('application/json;charset="UTF-8"')],
  ['a type in capitals', type('APPLICATION/JSON')],
  ['an unknown parameter of the type', type('application/json; profile=x')],
  ['an empty parameter of the type (RFC 9110 section 5.6.6)', type('application/json;')],
  ['the coding that is none', { 'content-encoding': 'identity' }],
  ['an Accept of something else', { accept: 'text/html' }],
];
