// Together, because loading the application takes longer than each of them.
await import('../config/live-settings.e2e-spec.js');
await import('../config/settings.e2e-spec.js');
await import('../logging/error-log.e2e-spec.js');
await import('../management/health.e2e-spec.js');
await import('../management/metrics.e2e-spec.js');
await import('../tracing/traces.e2e-spec.js');
