// Together, because loading the application takes longer than each of them.
await import('../on-postgres/live-settings.e2e-spec.js');
await import('../on-postgres/migrations.e2e-spec.js');
await import('../on-postgres/traces.e2e-spec.js');
await import('../database/session-state.e2e-spec.js');
await import('../http/unfit-values.e2e-spec.js');
