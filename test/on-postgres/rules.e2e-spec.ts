import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/rules.e2e-spec.js');
