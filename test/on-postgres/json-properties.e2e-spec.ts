import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/json-properties.e2e-spec.js');
