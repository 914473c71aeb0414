import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/feature-errors.e2e-spec.js');
