import { constant, words } from '../names.js';

export function service({ singular, plural, type, all }) {
  return `
    import { Injectable } from '@nestjs/common';
    import { ResourceRepository } from '../resource/store/resource-repository.js';
    import { InjectResource } from '../resource/resource.module.js';
    import { ${type} } from './${singular}.entity.js';

    /** The operations on ${words(plural)}. Rules for ${words(plural)} become methods here. */
    @Injectable()
    export class ${all}Service {
      constructor(@InjectResource(${type}) readonly records: ResourceRepository<${type}>) {}
    }`;
}

export function module({ singular, plural, type, all }) {
  return `
    import { Module } from '@nestjs/common';
    import { ResourceModule } from '../resource/resource.module.js';
    import { ${type} } from './${singular}.entity.js';
    import { ${constant(plural)} } from './${singular}.resource.js';
    import { ${all}Controller } from './${plural}.controller.js';
    import { ${all}Service } from './${plural}.service.js';

    @Module({
      imports: [ResourceModule.forFeature({ ...${constant(plural)}, entity: ${type} })],
      controllers: [${all}Controller],
      providers: [${all}Service],
      exports: [${all}Service],
    })
    export class ${all}Module {}`;
}
