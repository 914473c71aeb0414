// Together, because loading the application or the command line takes longer than some of them.
await import('../config/live-settings.process-spec.js');
await import('../database/faults.process-spec.js');
await import('../database/killed.process-spec.js');
await import('../database/migration-scripts.process-spec.js');
await import('../http/fuzz.process-spec.js');
await import('../http/overload.process-spec.js');
await import('../logging/log.process-spec.js');
await import('../resource/audit-processes.process-spec.js');
await import('../resource/self-check.process-spec.js');
await import('../server/systemd-socket.process-spec.js');
await import('../server/workers.process-spec.js');
await import('../tracing/tracing-process.process-spec.js');
