import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/samples.e2e-spec.js');
