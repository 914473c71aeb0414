import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../ordinary-code.e2e-spec.js');
