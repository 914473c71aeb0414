import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/audit.e2e-spec.js');
