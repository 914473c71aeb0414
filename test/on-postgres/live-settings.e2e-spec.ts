import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../config/live-settings.e2e-spec.js');
