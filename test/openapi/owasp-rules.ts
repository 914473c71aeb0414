import { Spectral, type IRuleResult } from '@stoplight/spectral-core';
import owasp from '@stoplight/spectral-owasp-ruleset';

/** Rules that do not apply, with the reason. */
const OFF = {
  'owasp:api1:2023-no-numeric-ids':
    'The contract has integer ids, and a scope decides on access, not the knowledge of an id.',
  'owasp:api8:2023-define-cors-origin':
    'Browsers alone read this field, and no response has it unless CORS_ORIGINS names origins.',
  'owasp:api9:2023-inventory-access': 'The service serves its own document and does not know who may reach it.',
  'owasp:api9:2023-inventory-environment': 'The service serves its own document and does not know its environment.',
};

/** Rules on limits apply only to requests: the service makes the responses, and a list has all records on purpose. */
const sent = (type: string): string[] =>
  ['parameters', 'requestBody'].map((part) => `$.paths[*][*].${part}..[?(@ && @.type == "${type}")]`);

// The package has types for CommonJS, which add a `default` property.
const { rules } = owasp as unknown as (typeof owasp)['default'];
const limit = rules['owasp:api4:2023-string-limit'];
const restricted = rules['owasp:api4:2023-string-restricted'];

const RELAXED = {
  'owasp:api4:2023-array-limit': { ...rules['owasp:api4:2023-array-limit'], given: sent('array') },
  // A pattern or a format limits the length, too.
  'owasp:api4:2023-string-limit': {
    ...limit,
    given: sent('string'),
    then: { ...limit.then, functionOptions: withAlso(limit.then.functionOptions.schema.anyOf, 'pattern', 'format') },
  },
  // HTTP header fields have their own syntax, and an invalid X-Request-Id is replaced, not rejected.
  'owasp:api4:2023-string-restricted': { ...restricted, given: sent('string').slice(1) },
};

function withAlso(anyOf: { required: string[] }[], ...keywords: string[]) {
  return { schema: { type: 'object', anyOf: [...anyOf, ...keywords.map((keyword) => ({ required: [keyword] }))] } };
}

/** The findings of Spectral's rules for the OWASP API Security Top 10 of 2023 in a document. */
export async function owaspFindings(document: object): Promise<IRuleResult[]> {
  const spectral = new Spectral();
  const off = Object.fromEntries(Object.keys(OFF).map((name) => [name, 'off' as const]));
  spectral.setRuleset({ extends: [[owasp, 'all']], rules: { ...RELAXED, ...off } } as never);
  return spectral.run(document as never);
}
