import type { Mutant } from './program/mutant.js';

const CLI = ['test/cli/cli.e2e-spec.ts'];
const BACKUP = ['test/cli/cli-backup.e2e-spec.ts'];
const INTERRUPTED = ['test/cli/cli-interrupted.e2e-spec.ts'];
const COPY = ['src/cli/sqlite-file/file-copy.spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'draft-is-not-on-disk',
    file: 'src/cli/output/replace-file.ts',
    replace: '  await sync(draft);\n',
    by: '',
    breaks: 'After a power cut a file that a command has made is whole: it is on disk before it takes its name.',
    specs: INTERRUPTED,
    tests: 'on disk before',
  },
  {
    id: 'export-is-done-before-the-file-stands',
    file: 'src/cli/export/export.ts',
    replace: '    await replaceFile(draft, path);',
    by: '    console.error(run.summary());\n    await replaceFile(draft, path);',
    breaks: 'An export reports its summary only when the file is in its place.',
    specs: INTERRUPTED,
    tests: 'export',
  },
  {
    id: 'copy-restarts-with-every-write',
    file: 'src/cli/sqlite-file/file-copy.ts',
    replace: `    source.exec('BEGIN; SELECT count(*) FROM sqlite_schema');\n`,
    by: '',
    breaks: 'A backup is of the moment it began, and ends however much is written meanwhile.',
    specs: COPY,
  },
  {
    id: 'backup-is-not-checked',
    file: 'src/cli/backup/backup.ts',
    replace: '  if (errors.length > 0) throw',
    by: '  if (errors.length > 5) throw',
    breaks: 'A backup that is not sound takes the place of none.',
    specs: INTERRUPTED,
    tests: 'checks the copy',
  },
  {
    id: 'old-wal-meets-the-new-database',
    file: 'src/cli/backup/restore.ts',
    replace: '    if (existsSync(path + suffix)) await rename(path + suffix, aside + suffix);\n',
    by: '    if (existsSync(path + suffix)) continue;\n',
    breaks: 'SQLite never takes the WAL of the old database for that of the restored one.',
    specs: BACKUP,
    tests: 'damaged beyond opening',
    survives: 'SQLite itself folds in or removes a WAL when the database is held, in every case that was tried.',
  },
  {
    id: 'restore-under-a-running-service',
    file: 'src/cli/sqlite-file/exclusive-lock.ts',
    replace: `pragma('journal_mode = DELETE', { simple: true });
    if (mode !== 'delete') throw Object.assign(new Error('in use'), { code: 'SQLITE_BUSY' });
    database.exec('BEGIN EXCLUSIVE');`,
    by: `pragma('journal_mode', { simple: true });
    database.exec(mode === 'wal' ? 'BEGIN IMMEDIATE' : 'BEGIN EXCLUSIVE');`,
    breaks: 'No database is replaced that a service has open.',
    specs: BACKUP,
    tests: 'while a service has',
  },
  {
    id: 'epoch-survives-the-restore',
    file: 'src/cli/backup/restore.ts',
    replace: `  renewEpoch(draft, randomBytes(6).toString('hex'));\n`,
    by: '',
    breaks: 'A restored database never answers 304 for what it does not hold.',
    specs: BACKUP,
    tests: 'restores what',
  },
  {
    id: 'doctor-makes-a-database',
    file: 'src/cli/doctor/doctor-storage.ts',
    replace: '  if (!databaseExists(config)) return NONE_YET;\n',
    by: '',
    breaks: 'The doctor makes no database.',
    specs: CLI,
    tests: 'doctor finds',
  },
  {
    id: 'token-lives-longer-by-default',
    file: 'src/cli/commands/token-command.ts',
    replace: 'seconds, 3600)',
    by: 'seconds, 36000)',
    breaks: 'A token is valid for an hour unless --expires says otherwise.',
    specs: CLI,
    tests: 'prints',
  },
  {
    id: 'wrong-usage-is-a-failure',
    file: 'src/cli/command-line.ts',
    replace: 'return error.exitCode === 0 ? 0 : 2;',
    by: 'return error.exitCode;',
    breaks: 'A command that is called wrongly ends with 2.',
    specs: CLI,
    tests: 'called wrongly',
  },
  {
    id: 'second-signal-is-ignored',
    file: 'src/cli/interrupt.ts',
    replace: '      if (controller.signal.aborted) process.exit(exitCode);\n',
    by: '',
    breaks: 'A second signal ends a command that does not come to its safe point.',
    specs: INTERRUPTED,
    tests: 'second SIGINT',
  },
  {
    id: 'references-are-not-looked-up',
    file: 'src/cli/import/import-validation.ts',
    replace: 'return reference === undefined ? [] : [{ line, problem: namesNothing(reference) }];',
    by: 'return reference === undefined ? [] : [];',
    breaks: 'An import names the line and the property that refers to a record which does not exist.',
    specs: ['test/project/cli-resources.e2e-spec.ts'],
    tests: 'names each line',
  },
];

export default mutants;
