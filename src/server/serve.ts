import { setFlagsFromString } from 'node:v8';
import { loadConfigFromProcess } from '../config/config.js';
import { SETTINGS } from '../features.js';

const load = (workers: number) => {
  // The primary gives its workers this argument.
  if (process.argv[2] === 'worker') return import('./worker.js');
  return workers === 1 ? import('./single-process.js') : import('./primary.js');
};

/** The exit code of Node.js when nothing is left to run while the program waits for a promise. */
const UNSETTLED = 13;
const NEVER_STARTED =
  'The service cannot start: it waits for a promise that never settles, such as that of onModuleInit() or a useFactory.';

process.once('exit', () => {
  if (process.exitCode === UNSETTLED) console.error(NEVER_STARTED);
});
try {
  const config = loadConfigFromProcess(SETTINGS);
  const { start } = await load(config.workers);
  // Now the young generation may grow again; see `main.ts`.
  setFlagsFromString('--semi-space-growth-factor=2');
  await start(config);
} catch (error) {
  console.error(await explanation(error));
  process.exit(1);
}

async function explanation(thrown: unknown): Promise<unknown> {
  const error = thrown ?? new Error(`${thrown} was thrown, which is no Error`);
  try {
    return (await import('./start-error.js')).explainStartError(error);
  } catch (failure) {
    // With too few descriptors, Node may also report that a package does not exist.
    const isTooFew = [error, failure].some((each) => (each as NodeJS.ErrnoException).code === 'EMFILE');
    if (!isTooFew) return error;
    return 'The service cannot start: the limit of open files is too low. Raise it (`ulimit -n`) to 1024.';
  }
}
