import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../properties.e2e-spec.js');
