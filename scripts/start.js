/** Builds the service and starts it in this process, so that signals and exit code are its own. */
import './native-module.js';
import { build } from './build.js';

await build();
await import('../dist/bundle/src/main.js');
