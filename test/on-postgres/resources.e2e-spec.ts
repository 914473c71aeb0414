import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../together/resources.e2e-spec.js');
