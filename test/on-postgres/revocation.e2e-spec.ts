import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../auth/revocation.e2e-spec.js');
