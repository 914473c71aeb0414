import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/uuid-ids.e2e-spec.js');
