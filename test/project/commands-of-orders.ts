import { TableColumn } from 'typeorm';
import { lines, run as runCommand } from '../support/command.js';
import { openDataSource } from '../support/data-source.js';
import { describeEngines } from '../support/engine.js';
import type { ProjectCommands } from '../support/project/project-commands.js';

export const ORDERS =
  'orders customer:text:100 code:text:20 quantity:int:1..1000=1 note?:text:50 status:enum:open,paid=open cookieId:ref:cookies ' +
  '--unique code --read-only status --timestamps';
const CREATED = '2026-01-31T12:00:00.123Z';

function order(values: { id: number } & Record<string, unknown>): string {
  const { id, ...others } = {
    ...{ customer: 'Ada', code: `c${values.id}`, quantity: 1, note: null, status: 'open', cookieId: 1 },
    ...{ createdAt: CREATED, updatedAt: CREATED },
    ...values,
  };
  return `${JSON.stringify({ id, ...others })}\n`;
}

export function describeOrders(commands: ProjectCommands): void {
  const { run, done, file, useEmptyDatabase, folder } = commands;

  describeEngines('with cookies and orders', (name) => {
    beforeEach(() => useEmptyDatabase(name));

    it('export and import move both into an empty database, with their ids and equal checksums', async () => {
      await done('import cookies', lines(3));
      const stored =
        order({ id: 1 }) + order({ id: 4, cookieId: 3, status: 'paid', note: '🍪' }) + order({ id: 70_000 });
      await done(`import orders ${file(stored)}`);
      const exported = { cookies: await done('export cookies'), orders: await done('export orders') };
      expect(exported.orders).toMatchObject({
        stdout: stored,
        stderr: expect.stringContaining('Exported 3 orders, sha256'),
      });

      await useEmptyDatabase(name);
      await done('import cookies', exported.cookies.stdout);
      const imported = await done('import orders', exported.orders.stdout);
      expect(imported.stderr).toContain(exported.orders.stderr.replace('Exported', 'The storage holds').trim());
      expect(await done('export cookies')).toEqual(exported.cookies);
      expect(await done('export orders')).toEqual(exported.orders);
      await done('import orders --ids assign', order({ id: 5, customer: 'Bo' }));
      expect((await done('export orders --after 70000')).stdout).toBe(
        order({ id: 70_001, customer: 'Bo', code: 'c5' }),
      );
      expect((await done('export orders --status paid')).stdout).toBe(stored.split('\n')[1] + '\n');
    });

    it('import names the first line with a missing reference, and its property; nothing of its batch is stored', async () => {
      await done('import cookies', lines(2));
      const wrong = order({ id: 1 }) + order({ id: 2, cookieId: 9 }) + order({ id: 4, cookieId: 3 });
      const named = 'Line 2 is wrong: "cookieId" refers to a record that does not exist.\n';
      for (const [command, input] of [
        [`import orders ${file(wrong)}`],
        ['import orders', wrong],
        [`import orders ${file(wrong)} --atomic`],
        [`import orders ${file(wrong)} --dry-run`],
      ] as const) {
        const stderr = expect.stringContaining(`${named}Nothing is stored`);
        expect(await run(command, input)).toMatchObject({ code: 1, stderr });
      }
      // PostgreSQL skips ids of records that are undone, so an export of all would end with the last one.
      expect((await done('export orders --limit 1')).stdout).toBe('');
    });

    it('import sets defaults for missing properties, and names lines whose value another record has', async () => {
      await done('import cookies', lines(1));
      const started = Date.now();
      await done('import orders', '{"customer":"Ada","code":"a","cookieId":1}\n');
      const { createdAt, updatedAt, ...stored } = JSON.parse((await done('export orders')).stdout);
      expect(stored).toEqual({
        ...JSON.parse(order({ id: 1, code: 'a' })),
        createdAt: undefined,
        updatedAt: undefined,
      });
      for (const date of [createdAt, updatedAt]) expect(Date.parse(date)).toBeGreaterThanOrEqual(started);

      const again = order({ id: 2 }) + order({ id: 3, code: 'c2' }) + order({ id: 4, code: 'a' });
      for (const option of ['', ' --dry-run']) {
        const repeated = await run(`import orders ${file(again)}${option}`);
        const stderr = expect.stringContaining('Line 2 is wrong: another record has the same "code"');
        expect(repeated).toMatchObject({ code: 1, stderr });
      }
      const taken = await run(`import orders ${file(order({ id: 4, code: 'a' }))}`);
      expect(taken.stderr).toContain('Line 1 is wrong: another record has the same "code"');
      const wrong = await run('import orders', order({ id: 2, status: 'lost', createdAt: '2026-02-30T00:00:00Z' }));
      expect(wrong.stderr).toMatch(/Line 1 is wrong: .*"status" must be .*"createdAt" must be a date and time/s);
    });

    it('import of orders that was interrupted continues beside an import of cookies, at the capacity of orders', async () => {
      await done('import cookies', lines(1));
      const many = (count: number) => Array.from({ length: count }, (_, index) => order({ id: 1 + index })).join('');
      const broken = await run('import orders', `${many(1500)}{}\n`);
      expect(broken.stderr).toMatch(
        /Line 1501 is wrong.*The first 1000 lines are stored\. Go on with: import orders the same/s,
      );
      await done('import cookies', lines(1, 2));
      const full = await run('import orders --resume', many(1502), { ORDERS_CAPACITY: '1501' });
      expect(full.stderr).toMatch(
        /Line 1502 cannot be stored: the storage holds 1501 orders, as many as ORDERS_CAPACITY allows/,
      );
      const { stdout } = await done('doctor');
      expect(stdout).toMatch(/^ok +counter +2 cookies of 10000, 1501 orders of 1501, /m);
      expect(stdout).toMatch(/^ok +import +one that began at .* 1501 lines: go on with cli import orders --resume$/m);
      const resumed = await run('import orders --resume', many(1502), { ORDERS_CAPACITY: '2000' });
      expect(resumed).toMatchObject({ code: 0, stderr: expect.stringContaining('Imported 1 order.') });
    });
  });

  describe('on either engine', () => {
    beforeEach(() => useEmptyDatabase('sqlite'));

    it('export jars ends with 2, and names the resources', async () => {
      const message = 'Name the resource first: cookies, orders, tickets, notes, folders. For example: npm run';
      expect(await run('export jars')).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
    });

    it('backup and restore count both; of a backup from before there were orders, also what migrations add', async () => {
      await runCommand(folder, ['import', 'cookies'], { input: lines(2) });
      expect(await runCommand(folder, ['backup', 'old.sqlite'])).toMatchObject({ code: 0 });
      expect((await done('restore --verify old.sqlite')).stderr).toContain(' and 1 folder. Nothing was changed.');
      const early = await done('restore old.sqlite');
      expect(early.stderr).toMatch(
        /Restored 2 cookies, 0 orders, 0 tickets, 0 notes and 1 folder from .*has run the migrations CreateOrders\d+, Create/s,
      );
      expect((await done('doctor')).stdout).toMatch(/^ok +counter +2 cookies of 10000, 0 orders of 10000, /m);
      await done('import orders', order({ id: 1 }) + order({ id: 2 }));
      expect((await done('backup new.sqlite')).stderr).toContain(
        'Backed up 2 cookies, 2 orders, 0 tickets, 0 notes and 1 folder to',
      );
      expect((await done('restore new.sqlite')).stderr).toContain('Restored 2 cookies, 2 orders, ');
      const checked = await run('migrate --check-capacity', '', { ORDERS_CAPACITY: '1' });
      expect(checked.stderr).toContain('ORDERS_CAPACITY is 1, and 2 orders are stored');
    });

    it('a backup is restored after a migration that rebuilds orders, with their reference, was reverted', async () => {
      await done('migrate');
      const dataSource = await openDataSource(commands.database, undefined, folder);
      const runner = dataSource.createQueryRunner();
      await runner.addColumn('orders', new TableColumn({ name: 'extra', type: 'integer', isNullable: true }));
      await runner.dropColumn('orders', 'extra');
      await runner.release();
      await dataSource.destroy();
      await done('doctor --fix');
      await done('backup rebuilt.sqlite');
      await done('restore rebuilt.sqlite');
    });
  });
}
