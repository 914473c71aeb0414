import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/bookings.e2e-spec.js');
