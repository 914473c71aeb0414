import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../rate-limit/shared-rate-limit.e2e-spec.js');
