import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/outings.e2e-spec.js');
