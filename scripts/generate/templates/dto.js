import { indefinite, words } from '../names.js';

export function dto(resource) {
  const { singular, type, all, fields, enums, json, references, writable, values } = resource;
  const schemas = enums.map(
    (field) => `const ${field.schema} = { enum: ${field.valuesName}, enumName: '${field.type}' } as const;`,
  );
  const filters = [...enums, ...references].map(({ name, type, schema, parent }) => {
    const description = `'Only those of this ${words(name.replace(/Id$/, ''))}; repeat it for "or".'`;
    const ids = parent?.ids === 'uuid' ? ', UUID_IDS' : '';
    const decorator =
      schema === undefined ? `@IdFilter(${description}${ids})` : `@EnumFilter(${schema}, ${description})`;
    return `${decorator}\n${name}?: ${type}[];`;
  });
  const nested = json.map(({ name, type, texts }) => {
    const properties = texts.map(
      (text) => `@TextProperty(1, 100, { example: 'Some ${words(text)}' })\n${text}!: string;`,
    );
    const about = `/** The ${words(name)} of ${indefinite(singular)}. */`;
    return `${about}\n@ApiClosed()\nexport class ${type}Dto implements ${type} {\n${properties.join('\n\n')}\n}`;
  });
  const ofService = fields.filter(({ isReadOnly }) => isReadOnly).map(dtoProperty);
  const timestamps = ['createdAt', 'updatedAt'].map((name) => `@DateTimeProperty()\n${name}!: Date;`);
  if (resource.hasTimestamps) ofService.push(...timestamps);
  return `
    import { PartialType } from '@nestjs/swagger';
    import { ApiClosed } from '../../openapi/closed.decorator.js';
    import { UUID_IDS } from '../../resource/id-kinds.js';
    import { EnumFilter, IdFilter, ListQueryOf } from '../../resource/lists/list-query.js';
    import {
      BooleanProperty, DateProperty, DateTimeProperty, DecimalProperty, EnumProperty, IdProperty, IntegerProperty,
      JsonProperty, NumberProperty, RecordOf, TextProperty, UuidProperty,
    } from '../../resource/properties.js';
    import { ${values} } from '../${singular}.values.js';

    ${schemas.join('\n')}

    ${nested.join('\n\n')}

    export class Create${type}Dto {
      ${writable.map(dtoProperty).join('\n\n')}
    }

    /** The body of PATCH. Absent properties do not change. */
    export class Patch${type}Dto extends PartialType(Create${type}Dto, { skipNullProperties: false }) {}

    /** The representation of ${indefinite(singular)} for clients. */
    @ApiClosed()
    export class ${type}Dto extends RecordOf(Create${type}Dto${resource.ids === 'uuid' ? `, ${resource.name}` : ''}) {
      ${ofService.join('\n\n')}
    }

    export class List${all}Query extends ListQueryOf(${resource.name}) {
      ${filters.join('\n\n')}
    }`;
}

function dtoProperty(field) {
  const { name, type, texts, decorator, arguments: bounds, least, example, isOptional, isReadOnly, initial } = field;
  const hasDefault = initial !== undefined && !isReadOnly;
  const options = [
    ...(field.parent?.ids === 'uuid' ? ['ids: UUID_IDS'] : []),
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
