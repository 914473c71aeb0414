/** Builds the service and starts it in this process, so that signals and exit code are its own. */
import { buildIfChanged } from './build.js';

buildIfChanged();
await import('../dist/src/main.js');
