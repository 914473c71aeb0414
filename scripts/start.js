/** Builds the service and starts it in this process, which then receives its signals and has its exit code. */
import { buildIfChanged } from './build.js';

buildIfChanged();
await import('../dist/src/main.js');
