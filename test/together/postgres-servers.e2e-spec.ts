// Together, because loading the application takes longer than each of them.
await import('../database/failover.e2e-spec.js');
await import('../database/postgres.e2e-spec.js');
await import('../database/postgres-connections.e2e-spec.js');
