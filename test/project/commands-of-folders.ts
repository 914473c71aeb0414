import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeEngines, describePostgres } from '../support/engine.js';
import { onServer } from '../support/postgres/postgres-server.js';
import type { ProjectCommands } from '../support/project/project-commands.js';
import type { ProjectCopy } from '../support/project/project-copy.js';

/** The generator writes a reference to another resource. `referToThemselves` changes it. */
export const FOLDERS = 'folders name:text:60 parentId?:ref:tickets --ids uuid';

export function referToThemselves(copy: ProjectCopy): void {
  const files = copy.files().filter((file) => /folder.*\.ts$/.test(file) && !file.startsWith('test/'));
  expect(files.length).toBeGreaterThan(5);
  for (const file of files) {
    const text = readFileSync(join(copy.folder, file), 'utf8');
    const changed = text.replace(`@References('Ticket'`, `@References('Folder'`).replace(`: 'tickets'`, `: 'folders'`);
    writeFileSync(join(copy.folder, file), changed);
  }
}

/** A migration that adds a folder if there are cookies before it. */
export function addMigrationOfFolders(copy: ProjectCopy): void {
  writeFileSync(
    join(copy.folder, 'migrations/9000000000000-fill-folders.ts'),
    `export class FillFolders9000000000000 {
       up = (runner) => runner.query("INSERT INTO folders (id, name) SELECT '${uuid(1)}', 'Old' FROM cookies WHERE id = 2");
       down = () => Promise.resolve();
     }`,
  );
}

const uuid = (number: number): string => `01999999-0000-7000-8000-${String(number).padStart(12, '0')}`;
const folder = (id: number, parent: number): string =>
  `${JSON.stringify({ id: uuid(id), name: 'Inbox', parentId: uuid(parent) })}\n`;

export function describeFolders(commands: ProjectCommands): void {
  const { run, done, file, useEmptyDatabase } = commands;
  describeEngines('folders, which refer to folders', (engine) => {
    beforeEach(() => useEmptyDatabase(engine));

    it('an export is imported again with its ids, although each folder refers to a later one', async () => {
      const count = 2500;
      const lines = Array.from({ length: count }, (_, index) => folder(index + 1, ((index + 1) % count) + 1)).join('');
      await done('migrate');
      expect((await done(`import folders ${file(lines)} --dry-run`)).stderr).toContain('The input is valid');
      await done(`import folders ${file(lines)}`);
      expect((await done('export folders')).stdout).toBe(lines);
      const later = folder(count + 1, 1);
      await done(`import folders ${file(later)}`);
      expect((await done(`export folders --after ${uuid(count)}`)).stdout).toBe(later);
    });

    it('import and --dry-run name a reference that neither the input nor the storage has, and store nothing', async () => {
      // On SQLite a dry run makes a separate database.
      const absent = { code: 1, stderr: expect.stringContaining('lacks the migrations') };
      const early = await run(`import folders ${file(folder(1, 1))} --dry-run`);
      expect(early).toMatchObject(engine === 'sqlite' ? { code: 0 } : absent);
      await done('migrate');
      const lines = folder(1, 3) + folder(2, 9) + folder(3, 1);
      const problem = 'Line 2 is wrong: "parentId" refers to a record that does not exist.\nNothing is stored';
      const stderr = expect.stringContaining(problem);
      for (const option of ['', ' --dry-run', ' --atomic']) {
        expect(await run(`import folders ${file(lines)}${option}`)).toMatchObject({ code: 1, stderr });
      }
      expect((await done('export folders')).stdout).toBe('');
    });

    it('import rejects new ids for folders that name others by their old ids, and input from a pipe', async () => {
      await done('migrate');
      for (const option of ['', ' --dry-run']) {
        expect(await run(`import folders ${file(folder(1, 1))} --ids assign${option}`)).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('Line 1 is wrong: "parentId" names a record by its id, and --ids assign'),
        });
        expect(await run(`import folders${option}`, folder(1, 1))).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('"parentId" may name a later line, so the import needs a file'),
        });
      }
      await done(`import folders ${file(folder(1, 1))}`);
      await done(`import folders ${file(`{"name":"New","parentId":"${uuid(1)}"}\n`)}`);
      expect((await done('export folders')).stdout).toContain(`"name":"New","parentId":"${uuid(1)}"`);
    });
  });

  describePostgres('folders, which refer to folders', () => {
    it('import waits for a COMMIT that checks all references longer than a statement may take', async () => {
      await useEmptyDatabase('postgres');
      await done('migrate');
      await onServer(commands.database['DATABASE_URL']!, (client) =>
        client.query(
          `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2.5); RETURN NULL; END';
           CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON folders DEFERRABLE INITIALLY DEFERRED
           FOR EACH ROW EXECUTE FUNCTION wait()`,
        ),
      );
      const short = { DATABASE_STATEMENT_TIMEOUT: '1000' };
      expect(await run(`import folders ${file(folder(1, 1))}`, undefined, short)).toMatchObject({ code: 0 });
    });
  });
}
