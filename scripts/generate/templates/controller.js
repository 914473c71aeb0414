import { camel } from '../names.js';

/** Default values of properties, as entries of an object literal. */
const valuesOf = (fields) => fields.map(({ name, initial }) => `${name}: ${JSON.stringify(initial ?? null)}`);

/** The body with default values for the properties that it lacks. */
const bodyOver = (values) => (values.length === 0 ? 'body' : `{ ${[...values, '...body'].join(', ')} }`);

export function controller(resource) {
  const { singular, plural, name, type, all, fields, writable, references, unique, ids, hasOwnState } = resource;
  const recordId = ids === 'uuid' ? `@RecordId(${name}) id: string` : '@RecordId() id: number';
  const variable = camel(plural);
  const described = [
    ...references.map((field) => `missingReference('${field.name}')`),
    ...unique.map((names) => `alreadyExists(${names.map((each) => `'${each}'`).join(', ')})`),
  ];
  const errors = described.length === 0 ? '' : ', errors';
  const withDefault = (among) => among.filter(({ initial }) => initial !== undefined);
  const defaults = [...writable.filter(({ isOptional }) => isOptional), ...withDefault(writable)];
  const spread = defaults.length > 0 ? ['...DEFAULTS'] : [];
  const initial = [
    ...(withDefault(writable).length > 0 ? spread : []),
    ...valuesOf(withDefault(fields).filter(({ isReadOnly }) => isReadOnly)),
  ];
  const replace = `await this.${variable}.records.update(id, ${bodyOver(spread)}, exchange.preconditions)`;
  return `
    import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put, Query } from '@nestjs/common';
    import { ApiTags } from '@nestjs/swagger';
    import { Scopes } from '../auth/scopes.decorator.js';
    import { Exchange, RecordId, ResourceExchange } from '../resource/exchange.js';
    import { ResourceLists } from '../resource/lists/resource-lists.js';
    import {
      alreadyExists, ApiCreate, ApiDelete, ApiGet, ApiList, ApiPatch, ApiReplace, missingReference,
    } from '../resource/operations.js';
    import { Create${type}Dto, List${all}Query, ${type}Dto, Patch${type}Dto } from './dto/${singular}.dto.js';
    import { ${name} } from './${singular}.values.js';
    import { ${all}Service } from './${plural}.service.js';

    ${errors && `const errors = [${described.join(', ')}];\n`}
    ${spread.length > 0 ? `/** Values for properties that a body leaves out. */\nconst DEFAULTS = { ${valuesOf(defaults).join(', ')} } as const;` : ''}

    @ApiTags('${plural}')
    @Controller('${plural}')
    export class ${all}Controller {
      constructor(
        private readonly ${variable}: ${all}Service,
        private readonly lists: ResourceLists,
      ) {}

      @Get()
      @Scopes('${plural}:read')
      @ApiList(${name}, { record: ${type}Dto, query: List${all}Query })
      list(@Query() query: List${all}Query, @Exchange() exchange: ResourceExchange) {
        return this.lists.respond(this.${variable}.records, query, exchange);
      }

      @Get(':id')
      @Scopes('${plural}:read')
      @ApiGet(${name}, { record: ${type}Dto })
      async get(${recordId}, @Exchange() exchange: ResourceExchange) {
        return exchange.record(await this.${variable}.records.get(id));
      }

      @Post()
      @Scopes('${plural}:write')
      @ApiCreate(${name}, { record: ${type}Dto, body: Create${type}Dto${errors} })
      async create(@Body() body: Create${type}Dto, @Exchange() exchange: ResourceExchange) {
        return exchange.created(${name}, await this.${variable}.records.create(${bodyOver(initial)}, exchange.preconditions));
      }

      @Put(':id')
      @Scopes('${plural}:write')
      @ApiReplace(${name}, { record: ${type}Dto, body: Create${type}Dto${errors} })
      async replace(${recordId}, @Body() body: Create${type}Dto, @Exchange() exchange: ResourceExchange) {
        return ${hasOwnState ? `(${replace}).record` : `exchange.changed(${replace})`};
      }

      @Patch(':id')
      @HttpCode(204)
      @Scopes('${plural}:write')
      @ApiPatch(${name}, { body: Patch${type}Dto${errors} })
      async patch(${recordId}, @Body() body: Patch${type}Dto, @Exchange() exchange: ResourceExchange) {
        exchange.changed(await this.${variable}.records.update(id, body, exchange.preconditions));
      }

      @Delete(':id')
      @HttpCode(204)
      @Scopes('${plural}:write')
      @ApiDelete(${name})
      delete(${recordId}, @Exchange() exchange: ResourceExchange) {
        return this.${variable}.records.delete(id, exchange.preconditions);
      }
    }`;
}
