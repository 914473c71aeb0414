import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/other-writers.e2e-spec.js');
