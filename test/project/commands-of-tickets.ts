import { createHash } from 'node:crypto';
import { describeEngines, describePostgres } from '../support/engine.js';
import type { ProjectCommands } from '../support/project/project-commands.js';

const uuid = (number: number): string => `01999999-0000-7000-8000-${String(number).padStart(12, '0')}`;
const ticket = (number: number, id = uuid(number)): string => `{"id":"${id}","title":"Row ${number}"}\n`;
const note = (id: number, number: number): string => `{"id":${id},"text":"Sold","ticketId":"${uuid(number)}"}\n`;
const tickets = (count: number): string => Array.from({ length: count }, (_, index) => ticket(index + 1)).join('');

export const TICKETS = 'tickets title:text:60 --unique title --ids uuid';
export const NOTES = 'notes text:text:60 ticketId:ref:tickets';

/** Tests commands on a resource whose ids are UUIDs, and on a resource that refers to it. */
export function describeTickets(commands: ProjectCommands): void {
  const { run, done, file, useEmptyDatabase } = commands;

  describePostgres('between the engines', () => {
    it('export and import move both there and back, byte for byte and with equal checksums', async () => {
      // UUIDs of other versions, from other systems, are valid ids, too.
      let moved = {
        tickets: tickets(1200) + ticket(1201, 'f81d4fae-7dec-41d0-a765-00a0c91e6bf6'),
        notes: note(1, 7) + note(4, 7),
      };
      const sha256 = createHash('sha256').update(moved.tickets).digest('hex');
      const first = moved;
      for (const engine of ['sqlite', 'postgres', 'sqlite']) {
        await useEmptyDatabase(engine);
        const imported = await done('import tickets', moved.tickets);
        expect(imported.stderr).toContain(`The storage holds 1201 tickets, sha256 ${sha256}`);
        await done('import notes', moved.notes);
        moved = { tickets: (await done('export tickets')).stdout, notes: (await done('export notes')).stdout };
        expect(moved).toEqual(first);
      }
    });
  });

  describeEngines('tickets', (engine) => {
    beforeEach(() => useEmptyDatabase(engine));

    it('import names lines with ids that are wrong, duplicate or stored, and missing references', async () => {
      await done('import tickets', ticket(1));
      const wrong = `${ticket(3, uuid(3).toUpperCase().replace('1', 'A'))}{"lastId":9}\n`;
      const { code, stderr } = await run(`import tickets ${file(wrong)}`);
      expect(code).toBe(1);
      for (const problem of [
        'Line 1 is wrong: "id" must be a UUID with hyphens, in lower case',
        'Line 2 is wrong: "lastId" is not known here',
      ]) {
        expect(stderr).toContain(problem);
      }
      for (const repeated of [ticket(2) + ticket(2).replace('Row 2', 'Row 3'), ticket(2) + ticket(1)]) {
        const { stderr } = await run(`import tickets ${file(repeated)}`);
        expect(stderr).toMatch(/Line 2 is wrong: another record has the same "(id|title)"\.\nNothing is stored\./);
      }
      const missing = await run('import notes', note(1, 1) + note(2, 9));
      expect(missing.stderr).toContain('Line 2 is wrong: "ticketId" refers to a record that does not exist');
      expect((await done('export tickets')).stdout).toBe(ticket(1));
    });

    it('import --ids assign gives new ids that ascend, and an interrupted import continues', async () => {
      const broken = await run('import tickets --ids assign', `${tickets(1500)}{}\n`);
      expect(broken.stderr).toContain('The first 1000 lines are stored.');
      await done('import tickets --resume', tickets(1502));
      const stored = (await done('export tickets')).stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(stored.map(({ title }) => title)).toEqual(Array.from({ length: 1502 }, (_, index) => `Row ${index + 1}`));
      const { id } = stored[1499];
      expect((await done(`export tickets --after ${id}`)).stdout.split('\n')).toHaveLength(3);
      expect((await run('export tickets --after 7')).stderr).toContain('It must be a UUID with hyphens, in lower case');
    });
  });
}
