import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/properties.e2e-spec.js');
