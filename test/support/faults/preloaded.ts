import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Environment } from '../../../src/config/config.js';

/** The address of a file of the project, for an `import` in a program that the service loads. */
export const projectModule = (path: string): string => pathToFileURL(resolve(path)).href;

const LOGGER = `import { Logger } from '${projectModule('node_modules/@nestjs/common/index.js')}';\n`;
const preload = (source: string): string => `--import data:text/javascript,${encodeURIComponent(source)}`;

/** Runs a program in the process of the service, before the service itself. It can use Nest's `Logger`. */
export function preloaded(program: string): Environment {
  return { NODE_OPTIONS: preload(LOGGER + program) };
}

/**
 * The file of a program, as operators start it. One that is to share modules with a preloaded program runs from what the compiler has
 * written, since the bundle has copies of all modules.
 * @param path such as `src/main.js`
 */
export function programFor({ NODE_OPTIONS }: Environment, path: string): string {
  const sharesModules = NODE_OPTIONS?.startsWith(preload(LOGGER)) ?? false;
  return resolve(sharesModules ? 'dist' : 'dist/bundle', path);
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
