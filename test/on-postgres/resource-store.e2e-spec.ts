import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/resource-store.e2e-spec.js');
