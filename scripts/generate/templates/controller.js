import { ignoringCase } from '../imports.js';
import { camel, constant, pascal } from '../names.js';
import { referencesOf } from '../resource.js';

/** @typedef {import('../resource.js').Resource} Resource */

/** @param {Resource} resource */
export function controller({ singular, plural, fields }) {
  const [name, type, all] = [constant(singular), pascal(singular), pascal(plural)];
  const variable = camel(plural);
  const references = referencesOf(fields).map((field) => `missingReference('${field.name}')`);
  const errors = references.length === 0 ? '' : ', errors';
  const dtos = [`Create${type}Dto`, `List${all}Query`, `${type}Dto`, `Patch${type}Dto`].sort(ignoringCase);
  const optional = fields.filter(({ isOptional }) => isOptional).map((field) => `${field.name}: null`);
  const replacement = optional.length === 0 ? 'body' : '{ ...ABSENT, ...body }';
  return `
    import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put, Query } from '@nestjs/common';
    import { ApiTags } from '@nestjs/swagger';
    import { Scopes } from '../auth/scopes.decorator.js';
    import { Exchange, ResourceExchange } from '../resource/exchange.js';
    import { ResourceLists } from '../resource/lists/resource-lists.js';
    ${errors && "import { missingReference } from '../resource/operations/operation-errors.js';\n"}import { ApiCreate, ApiDelete, ApiGet, ApiList, ApiPatch, ApiReplace } from '../resource/operations/operations.js';
    import { RecordId } from '../resource/record-id.js';
    import { ${dtos.join(', ')} } from './dto/${singular}.dto.js';
    import { ${name} } from './${singular}.values.js';
    import { ${all}Service } from './${plural}.service.js';

    ${errors && `const errors = [${references.join(', ')}];\n`}
    ${optional.length > 0 ? `/** What PUT does not name becomes this. */\nconst ABSENT = { ${optional.join(', ')} };` : ''}

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
      async get(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
        return exchange.record(await this.${variable}.records.get(id));
      }

      @Post()
      @Scopes('${plural}:write')
      @ApiCreate(${name}, { record: ${type}Dto, body: Create${type}Dto${errors} })
      async create(@Body() body: Create${type}Dto, @Exchange() exchange: ResourceExchange) {
        return exchange.created(${name}, await this.${variable}.records.create(body));
      }

      @Put(':id')
      @Scopes('${plural}:write')
      @ApiReplace(${name}, { record: ${type}Dto, body: Create${type}Dto${errors} })
      async replace(@RecordId() id: number, @Body() body: Create${type}Dto, @Exchange() exchange: ResourceExchange) {
        return exchange.changed(await this.${variable}.records.update(id, ${replacement}, exchange.preconditions));
      }

      @Patch(':id')
      @HttpCode(204)
      @Scopes('${plural}:write')
      @ApiPatch(${name}, { body: Patch${type}Dto${errors} })
      async patch(@RecordId() id: number, @Body() body: Patch${type}Dto, @Exchange() exchange: ResourceExchange) {
        exchange.changed(await this.${variable}.records.update(id, body, exchange.preconditions));
      }

      @Delete(':id')
      @HttpCode(204)
      @Scopes('${plural}:write')
      @ApiDelete(${name})
      delete(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
        return this.${variable}.records.delete(id, exchange.preconditions);
      }
    }`;
}
