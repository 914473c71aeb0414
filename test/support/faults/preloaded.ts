import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Environment } from '../../../src/config/config.js';

/** The URL of a project file, for an `import` in a preloaded program. */
export const projectModule = (path: string): string => pathToFileURL(resolve(path)).href;

const LOGGER = `import { Logger } from '${projectModule('node_modules/@nestjs/common/index.js')}';\n`;

/** Runs a program in the process of the service, before the service. It can use Nest's `Logger`. */
export function preloaded(program: string): Environment {
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(LOGGER + program)}` };
}

/**
 * Adds a module with one provider to the application, as a team would.
 * @param body of the provider's class, which has TypeORM's data source as `dataSource`
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

/** Adds a provider that logs the signal which stops the application. */
export const LOGS_ITS_SIGNAL = withProvider(
  "onApplicationShutdown(signal) { new Logger('Hook').log(`hook: ${signal}`); }",
);
