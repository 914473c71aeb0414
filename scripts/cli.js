/** Builds the service if a source has changed, and runs the command line in this process. */
import { buildIfChanged } from './build.js';

buildIfChanged();
await import('../dist/src/cli/main.js');
