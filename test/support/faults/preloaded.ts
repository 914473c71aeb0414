import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Environment } from '../../../src/config/config.js';

/** The address of a file of the project, for an `import` in a program that the service loads. */
export const projectModule = (path: string): string => pathToFileURL(resolve(path)).href;

const LOGGER = `import { Logger } from '${projectModule('node_modules/@nestjs/common/index.js')}';\n`;

/** Runs a program in the process of the service, before the service itself. It can use Nest's `Logger`. */
export function preloaded(program: string): Environment {
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(LOGGER + program)}` };
}

/**
 * Adds a module with one provider to the application, as a team would add it.
 * @param body of the provider's class, whose property `dataSource` is TypeORM's
 */
export function withProvider(body: string): Environment {
  return preloaded(`
    import { DataSource } from '${projectModule('node_modules/typeorm/index.mjs')}';
    import { AppModule } from '${projectModule('dist/src/app.module.js')}';
    class Added {
      constructor(dataSource) { this.dataSource = dataSource; }
      ${body}
    }
    class AddedModule {}
    const provider = { provide: Added, useFactory: (dataSource) => new Added(dataSource), inject: [DataSource] };
    const forRoot = AppModule.forRoot;
    AppModule.forRoot = (config) => {
      const { imports, ...rest } = forRoot(config);
      return { ...rest, imports: [...imports, { module: AddedModule, providers: [provider] }] };
    };`);
}
