// Together, because loading the application or the command line takes longer than some of them.
await import('../cli/cli.process-spec.js');
await import('../cli/cli-backup.process-spec.js');
await import('../cli/cli-backup-folder.process-spec.js');
await import('../cli/cli-export.process-spec.js');
await import('../cli/cli-files.process-spec.js');
await import('../cli/cli-import.process-spec.js');
await import('../cli/cli-postgres.process-spec.js');
