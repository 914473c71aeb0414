import { valuesOf } from '../fields.js';
import { constant, indefinite, pascal, words } from '../names.js';
import { enumsOf, jsonOf, referencesOf, refersToUuid, valuesImport, writableOf } from '../resource.js';

export function dto({ singular, plural, fields, known, hasTimestamps, ids }) {
  const type = pascal(singular);
  const enums = enumsOf(fields).map(({ name, type, schema }) => {
    return `const ${schema} = { enum: ${valuesOf(singular, name)}, enumName: '${type}' } as const;`;
  });
  const filters = [
    ...enumsOf(fields).map(({ name, type, schema }) => [
      `@EnumFilter(${schema}, 'Only those of this ${words(name)}; repeat it for "or".')`,
      `${name}?: ${type}[];`,
    ]),
    ...referencesOf(fields).map((field) => {
      const { name, type, reference = '' } = field;
      const description = `'Only those of this ${words(known.get(reference)?.entity ?? reference)}; repeat it for "or".'`;
      return [`@IdFilter(${description}${refersToUuid(field) ? ', UUID_IDS' : ''})`, `${name}?: ${type}[];`];
    }),
  ];
  const nested = jsonOf(fields).map(({ name, type, texts = [] }) => {
    const properties = texts.map(
      (text) => `@TextProperty(1, 100, { example: 'Some ${words(text)}' })\n${text}!: string;`,
    );
    const about = `/** The ${words(name)} of ${indefinite(singular)}. */`;
    return `${about}\n@ApiClosed()\nexport class ${type}Dto implements ${type} {\n${properties.join('\n\n')}\n}`;
  });
  const ofService = fields.filter(({ isReadOnly }) => isReadOnly).map(dtoProperty);
  if (hasTimestamps) ofService.push('@DateTimeProperty()\ncreatedAt!: Date;', '@DateTimeProperty()\nupdatedAt!: Date;');
  return `
    import { PartialType } from '@nestjs/swagger';
    import { ApiClosed } from '../../openapi/closed.decorator.js';
    import { UUID_IDS } from '../../resource/id-kinds.js';
    import { EnumFilter, IdFilter, ListQueryOf } from '../../resource/lists/list-query.js';
    import {
      BooleanProperty, DateProperty, DateTimeProperty, DecimalProperty, EnumProperty, IdProperty, IntegerProperty,
      JsonProperty, NumberProperty, RecordOf, TextProperty, UuidProperty,
    } from '../../resource/properties.js';
    ${valuesImport({ singular, fields }, '../')}

    ${enums.join('\n')}

    ${nested.join('\n\n')}

    export class Create${type}Dto {
      ${writableOf(fields).map(dtoProperty).join('\n\n')}
    }

    /** The body of PATCH. Absent properties do not change. */
    export class Patch${type}Dto extends PartialType(Create${type}Dto, { skipNullProperties: false }) {}

    /** The representation of ${indefinite(singular)} for clients. */
    @ApiClosed()
    export class ${type}Dto extends RecordOf(Create${type}Dto${ids === 'uuid' ? `, ${constant(singular)}` : ''}) {
      ${ofService.join('\n\n')}
    }

    export class List${pascal(plural)}Query extends ListQueryOf(${constant(singular)}) {
      ${filters.map((lines) => lines.join('\n')).join('\n\n')}
    }`;
}

function dtoProperty(field) {
  const { name, type, texts, decorator, arguments: bounds, least, example, isOptional, isReadOnly, initial } = field;
  const hasDefault = initial !== undefined && !isReadOnly;
  const options = [
    ...(refersToUuid(field) ? ['ids: UUID_IDS'] : []),
    ...(least === undefined ? [] : [`minimum: ${least}`]),
    ...(example === undefined ? [] : [`example: ${example}`]),
    ...(isOptional ? ['isOptional: true'] : []),
    ...(hasDefault ? [`default: ${JSON.stringify(initial)}`] : []),
  ];
  const all = [...bounds, ...(options.length === 0 ? [] : [`{ ${options.join(', ')} }`])];
  const dto = texts === undefined ? type : `${type}Dto`;
  const declared = isOptional ? `${name}?: ${dto} | null` : `${name}${hasDefault ? '?' : '!'}: ${dto}`;
  return `@${decorator}(${all.join(', ')})\n${declared};`;
}
