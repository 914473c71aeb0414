import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/counted-resources.e2e-spec.js');
