import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { countsOf, inDatabase, line, lines, outcomeOf, run, startCommand } from '../support/command.js';
import { startLoggedService } from '../support/logged-service.js';
import { Client, COOKIE, environmentIn, startService, temporaryFolder } from '../support/service.js';
import { endedWith, expectEnd } from './ended-with.js';

const GOOD = line({ id: 1 });
const sha = (text: string) => /sha256 ([0-9a-f]{64})/.exec(text)?.[1];

describe('cli import', () => {
  let folder: string;

  beforeEach(() => {
    folder = temporaryFolder();
  });

  const inFolder = () => ({ DATABASE_URL: `sqlite:${join(folder, 'cookies.sqlite')}` });

  const importFile = (text: string | Uint8Array, args: string[] = [], environment = {}) => {
    writeFileSync(join(folder, 'in.ndjson'), text);
    return run(folder, ['import', 'cookies', 'in.ndjson', ...args], { environment });
  };

  const importInput = (input: string | Uint8Array, ...args: string[]) =>
    run(folder, ['import', 'cookies', ...args], { input });

  const exported = async (...args: string[]) => (await run(folder, ['export', 'cookies', ...args])).stdout;

  it('stores the output of export, so that another export is equal byte for byte', async () => {
    const text = lines(2500);
    const imported = await importFile(text);
    expect(imported).toMatchObject({ code: 0, stdout: '' });
    const again = await run(folder, ['export', 'cookies']);
    expect(again).toMatchObject({ code: 0, stdout: text });
    expect(sha(again.stderr)).toHaveLength(64);
    expect(sha(imported.stderr)).toBe(sha(again.stderr));
    expect(countsOf(folder)).toEqual({ count: 2500, used: 2500 });
    expect(inDatabase(folder, (database) => database.prepare('SELECT * FROM imports').all())).toEqual([]);
  });

  const BROKEN: readonly [string, string | Uint8Array, RegExp][] = [
    ['an unknown flavor', line({ id: 2, flavor: 'mint' }), /"flavor" must be one of .*chocolate, vanilla, cinnamon/],
    ['a wish of 256 characters', line({ id: 2, wish: '🍪'.repeat(256) }), /"wish" must be a text of 1 to 255 char/],
    ['NUL', line({ id: 2, wish: 'a\0b' }), /"wish" .*without NUL/],
    ['a lone surrogate', line({ id: 2 }).replace('Schnee', '\\ud800'), /"wish" .*lone surrogates/],
    ['an unknown member', line({ id: 2, colour: 'red' }), /"colour" is not known here; known are/],
    ['__proto__', '{"__proto__":{},"flavor":"vanilla","size":"small","wish":"x"}\n', /"__proto__" is not known/],
    ['a missing member', '{"id":2,"flavor":"vanilla","size":"small"}\n', /"wish" must be a text/],
    ['an id of 0', line({ id: 0 }), /"id" must be a whole number from 1 to 9007199254740991/],
    ['an id beyond 2^53-1', line({ id: 2 }).replace('2', '9007199254740993'), /"id" must be a whole number/],
    ['an id as text', line({ id: '2' }), /"id" must be a whole number/],
    ['no id after lines with one', line(), /it has no "id"; use --ids assign/],
    ['broken JSON', '{"id":2,\n', /not valid JSON/],
    ['an empty line', '\n', /it is empty; each line must be a JSON object with id, flavor, size, wish/],
    ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0x0a]), /not valid UTF-8/],
    ['a byte-order mark', `\ufeff${line({ id: 2 })}`, /byte-order mark/],
    ['a line that is too long', `${' '.repeat(17_000)}${line({ id: 2 })}`, /longer than the 16384 bytes/],
  ];

  it('names every broken line of a file by its number and the problem, and stores nothing', async () => {
    const others = '[]\n'.repeat(21 - BROKEN.length);
    const text = Buffer.concat([GOOD, ...BROKEN.map(([, bad]) => bad), others].map((part) => Buffer.from(part)));
    const { code, stderr } = await importFile(text);
    expect(code).toBe(1);
    const named = stderr.split('\n').filter((text) => text.startsWith('Line '));
    expect(named).toHaveLength(20);
    BROKEN.forEach(([, , fault], index) => {
      expect(named[index]).toMatch(fault);
      expect(named[index]).toMatch(new RegExp(`^Line ${index + 2} is wrong: `));
    });
    expect(stderr).toMatch(/\.\.\. and 1 more lines\.\nNothing was stored by this run\.\n$/);
    expect(countsOf(folder)).toEqual({ count: 0, used: 0 });
  });

  it('ends at the first broken line of stdin, and keeps the records stored before', async () => {
    const stored = endedWith(1, /Line 1501 is wrong: "size" must be one of.*\nThe first 1000 lines are stored/);
    expect(await importInput(lines(1500) + line({ id: 1501, size: 'tiny' }))).toMatchObject(stored);
    expect(countsOf(folder)).toEqual({ count: 1000, used: 1000 });
    await expectEnd(importInput(lines(1501), '--resume'), 0, 'Imported 501 cookies');
  });

  it('accepts a last line without line end, CRLF, and properties in any order', async () => {
    const text =
      '{"wish":"x","size":"small","flavor":"vanilla","id":9}\r\n{"id":2,"flavor":"vanilla","size":"small","wish":"y"}';
    expect(await importFile(text)).toMatchObject({ code: 0 });
    expect(countsOf(folder)).toEqual({ count: 2, used: 2 });
  });

  it.each([
    [
      '- that is a pipe, after a folder was rejected',
      '! cli import cookies - < . && cat in.ndjson | cli import cookies -',
    ],
    ['/dev/stdin that is a file', 'cli import cookies /dev/stdin < in.ndjson'],
    ['a packed FIFO', 'mkfifo fifo && (gzip -c in.ndjson > fifo &) && cli import cookies fifo'],
  ])('stores the content of %s', async (_what, command) => {
    writeFileSync(join(folder, 'in.ndjson'), lines(2500));
    const cli = `cli() { '${process.execPath}' '${resolve('dist/src/cli/main.js')}' "$@"; }`;
    const env = { PATH: process.env['PATH'], ...environmentIn(folder, { NODE_ENV: 'production' }) };
    const shell = spawn('bash', ['-c', `${cli}; ${command}`], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    await expectEnd(outcomeOf(shell), 0, 'Imported 2500 cookies.');
    expect(countsOf(folder)).toEqual({ count: 2500, used: 2500 });
  });

  it('reports a line that is too long before its end: /dev/zero has none', async () => {
    const outcome = await run(folder, ['import', 'cookies', '/dev/zero']);
    expect(outcome).toMatchObject(endedWith(1, 'Line 1 is wrong: it is longer than'));
  });

  it('waits for the writer of a FIFO, until SIGTERM', async () => {
    execFileSync('mkfifo', [join(folder, 'fifo')]);
    const child = startCommand(folder, ['import', 'cookies', 'fifo']);
    await once(child.stderr!, 'data');
    await sleep(300);
    child.kill('SIGTERM');
    expect(await outcomeOf(child)).toMatchObject({ code: 143 });
  });

  it.each(['{"lastId":9007199254740991}\n', line({ id: 9007199254740991 }), line({ id: 9007199254730992 })])(
    'rejects an id that leaves too few ids for new records: %s',
    async (text) => {
      await expectEnd(importFile(lines(1) + text), 1, /Line 2 is wrong: its id 90\d+ leaves too few/);
      expect(countsOf(folder).count).toBe(0);
    },
  );

  it('makes POST 507 with a line in the log when the ids are used up', async () => {
    await importFile(GOOD);
    inDatabase(folder, (database) => database.prepare('UPDATE sqlite_sequence SET seq = ?').run(2 ** 53 - 1));
    await using service = await startLoggedService(inFolder());
    const answer = await Client.of(service).post(COOKIE);
    expect(answer).toMatchObject({ status: 507, body: { errorCode: 'STORAGE_FULL' } });
    expect(service.output).toContain('The ids of cookies are used up');
    expect(countsOf(folder)).toEqual({ count: 1, used: 1 });
  });

  it('names the line whose id the storage has, and stores nothing', async () => {
    await importFile(lines(3));
    for (const importLines of [importFile, importInput]) {
      const wrong = endedWith(1, 'Line 1 is wrong: another record has the same "id"');
      expect(await importLines(lines(3, 3))).toMatchObject(wrong);
    }
    expect(countsOf(folder)).toEqual({ count: 3, used: 3 });
  });

  it('names the line whose id a line before it has, keeps the lines of earlier batches, and continues', async () => {
    const repeated = await importFile(lines(1500) + GOOD);
    expect(repeated.stderr).toMatch(
      /Line 1501 is wrong: another record has the same "id"\.\nThe first 1000 lines are stored\. Go on with/,
    );
    expect(await importFile(lines(1500), ['--resume'])).toMatchObject({ code: 0 });
    expect(countsOf(folder)).toEqual({ count: 1500, used: 1500 });
  });

  it('assigns new ids with the option, or if lines have none', async () => {
    await importFile(lines(2, 10));
    expect(await importFile(lines(2, 10), ['--ids', 'assign'])).toMatchObject({ code: 0 });
    expect(await importFile(line() + line())).toMatchObject({ code: 0 });
    expect((await exported()).match(/"id":[0-9]+/g)).toEqual([10, 11, 12, 13, 14, 15].map((id) => `"id":${id}`));
  });

  it('--resume rejects the line that has an id, unlike lines before it, as the first run does', async () => {
    const input = line().repeat(1500) + line({ id: 7 });
    const rejected = endedWith(1, /Line 1501 is wrong: it has an id, which lines before it lack/);
    for (const args of [[], ['--resume']]) expect(await importInput(input, ...args)).toMatchObject(rejected);
    expect(await importInput(input, '--resume', '--ids', 'assign')).toMatchObject({ code: 0 });
  });

  it('stores nothing in a dry run, also beside a writer, and needs a file for it', async () => {
    expect(await importFile(lines(3), ['--dry-run'])).toMatchObject({ code: 0 });
    expect(readdirSync(folder).filter((name) => name.includes('sqlite'))).toEqual([]);
    await importFile(lines(3));
    const TMPDIR = temporaryFolder();
    using writer = openDatabase(join(folder, 'cookies.sqlite'));
    writer.exec('BEGIN IMMEDIATE');
    const valid = await importFile(lines(3, 4), ['--dry-run'], { TMPDIR });
    writer.exec('ROLLBACK');
    expect(readdirSync(TMPDIR)).toEqual([]);
    expect(valid).toMatchObject(endedWith(0, 'The input is valid: 3 cookies can be imported. Nothing is stored.'));
    expect(valid.stderr).toContain('9997 of 10000 places are free.');
    for (const [text, number] of [
      [lines(3, 3), 1],
      [lines(1500, 4) + line({ id: 5 }), 1501],
    ] as const) {
      const message = `Line ${number} is wrong: another record has the same "id"`;
      await expectEnd(importFile(text, ['--dry-run']), 1, message);
    }
    expect(await importInput(GOOD, '--dry-run')).toMatchObject({ code: 2 });
    expect(countsOf(folder)).toEqual({ count: 3, used: 3 });
    expect(await importFile(line() + line())).toMatchObject({ code: 0 });
    expect(await exported('--after', '3')).toMatch(/^{"id":4,.*\n{"id":5,/);
  });

  it.each<[options: string[], says: RegExp, count: number]>([
    [['in.ndjson'], /There is not enough room: 4 cookies are to be stored, and 2 of 2 places are free/, 0],
    [['in.ndjson', '--atomic'], /There is not enough room: 4 cookies/, 0],
    [[], /Line 3 cannot be stored: .* holds 2 cookies.*\nThe first 2 lines are stored\. Go on with/, 2],
  ])('reports how many of four cookies are stored in two places: %j', async (options, says, count) => {
    writeFileSync(join(folder, 'in.ndjson'), lines(4));
    const environment = { COOKIES_CAPACITY: '2' };
    const imported = await run(folder, ['import', 'cookies', ...options], { environment, input: lines(4) });
    expect(imported).toMatchObject(endedWith(1, says));
    expect(imported.stderr).not.toMatch(/^Imported/m);
    expect(countsOf(folder)).toEqual({ count, used: count });
  });

  it('keeps the capacity of the service or of cli set when the shell has no COOKIES_CAPACITY', async () => {
    expect(await importFile(lines(1, 1), [], { COOKIES_CAPACITY: '3' })).toMatchObject({ code: 0 });
    await expectEnd(importFile(lines(1, 2)), 0, /^2 of 3 places are free/m);
    await expectEnd(importFile(lines(2, 3)), 1, /1 of 3 places are free/);
    inDatabase(folder, (database) => database.exec('DROP TRIGGER cookies_insert'));
    expect(await run(folder, ['migrate'])).toMatchObject({ code: 0 });
    await expectEnd(importFile(lines(2, 3)), 1, /1 of 3 places are free/);
    inDatabase(folder, (database) => database.exec('DROP TRIGGER cookies_insert'));
    expect((await run(folder, ['doctor', '--fix'])).stdout).toMatch(/^ok {4}counter +2 cookies of 3$/m);
    expect(await run(folder, ['set', 'COOKIES_CAPACITY=5'])).toMatchObject({ code: 0 });
    await expectEnd(importFile(lines(2, 3)), 0, /^3 of 5 places are free/m);
  });

  it('stores all or nothing with --atomic', async () => {
    await importFile(lines(1, 1));
    const outcome = importFile(lines(2000, 2), ['--atomic'], { COOKIES_CAPACITY: '2000' });
    await expectEnd(outcome, 1, /1999 of 2000 places are free.*2000 cookies are to be stored, and 1999 of 2000/s);
    expect(countsOf(folder)).toEqual({ count: 1, used: 1 });
    expect(await importFile(lines(2000, 2), ['--atomic'], { COOKIES_CAPACITY: '2001' })).toMatchObject({ code: 0 });
    expect(countsOf(folder)).toEqual({ count: 2001, used: 2001 });
    expect(await importInput(GOOD, '--atomic')).toMatchObject({ code: 2 });
  });

  describe('when it is interrupted', () => {
    const TOTAL = 3000;

    /** Feeds some of the input, waits until some of it is stored, and ends the import. */
    const interruptedBy = async (signal: NodeJS.Signals, text: string) => {
      const child = startCommand(folder, ['import', 'cookies', '--ids', 'assign']);
      const outcome = outcomeOf(child);
      child.stdin!.on('error', () => {});
      child.stdin!.write(text.slice(0, text.length / 2));
      const stored = () => {
        try {
          return countsOf(folder).count;
        } catch {
          return 0;
        }
      };
      while (stored() < 1000) await sleep(5);
      child.kill(signal);
      return outcome;
    };

    it.each(['SIGKILL', 'SIGINT'] as const)(
      'by %s continues with the same input only, without losing or repeating a record',
      async (signal) => {
        const text = lines(TOTAL);
        const { code, stderr } = await interruptedBy(signal, text);
        if (signal === 'SIGINT') {
          expect(code).toBe(130);
          expect(stderr).toMatch(/Interrupted\.\nThe first [0-9]+ lines are stored\. Go on with: .* --resume/);
        }
        const { count, used } = countsOf(folder);
        expect(used).toBe(count);
        expect(count).toBeLessThan(TOTAL);

        await expectEnd(importInput(text), 1, `interrupted when ${count} lines`);

        for (const [args, input, code, message] of [
          [[], lines(1), 1, 'This is not the input'],
          [[], '', 1, 'This is not the input'],
          [[], text.replace('Schnee', 'Regen'), 1, 'This is not the input'],
          [['--ids', 'keep'], text, 2, 'The import was begun with --ids assign'],
        ] as const) {
          await expectEnd(importInput(input, '--resume', ...args), code, message);
          expect(countsOf(folder)).toEqual({ count, used });
        }

        const resumed = endedWith(0, `Imported ${TOTAL - count} cookies`);
        expect(await importInput(text, '--resume')).toMatchObject(resumed);
        expect(await exported()).toBe(text);
        await expectEnd(importInput(text, '--resume'), 1, 'nothing to resume');
      },
    );

    it('starts again with --forget, even if a restored file names an interrupted line of 64 bits', async () => {
      expect(await importFile(line())).toMatchObject({ code: 0 });
      inDatabase(folder, (database) =>
        database.exec(`INSERT INTO imports VALUES ('cookies', 9223372036854775807, '', 'keep', 'yesterday')`),
      );
      await expectEnd(importFile(line()), 1, '--forget');
      expect(await importFile(line(), ['--forget'])).toMatchObject({ code: 0 });
    });
  });

  it('changes the ETag of the list of a running service, whose next id is greater than the imported ids', async () => {
    await using service = await startService(inFolder());
    const client = Client.of(service);
    const before = (await client.get('/cookies')).headers.get('etag')!;
    expect(await importFile(lines(1500, 500))).toMatchObject({ code: 0 });
    const list = await client.get('/cookies', { 'if-none-match': before });
    expect(list).toMatchObject({ status: 200 });
    expect(list.headers.get('x-total-count')).toBe('1500');
    expect((await client.post(COOKIE)).body.id).toBe(2000);
  });

  it('runs once at a time: a second import of the resource is rejected or waits, and nothing is stored twice', async () => {
    const outcomes = await Promise.all([1, 10_001].map((first) => importInput(lines(3000, first))));
    const stored = outcomes.filter(({ code }) => code === 0).length * 3000;
    const partly = outcomes.map(({ stderr }) => Number(/The first ([0-9]+) lines are stored/.exec(stderr)?.[1] ?? 0));
    for (const { code, stderr } of outcomes) if (code !== 0) expect(stderr).toMatch(/import .*(going on|interrupted)/i);
    const count = stored + partly.reduce((sum, lines) => sum + lines, 0);
    expect(countsOf(folder)).toEqual({ count, used: count });
  });

  it('fills exactly the free places while the service also stores records', async () => {
    const environment = { COOKIES_CAPACITY: '2500' };
    await using service = await startService({ ...inFolder(), ...environment });
    const client = Client.of(service);
    const child = startCommand(folder, ['import', 'cookies', '--ids', 'assign'], environment);
    const outcome = outcomeOf(child);
    child.stdin!.on('error', () => {});
    child.stdin!.end(lines(4000));
    let posted = 0;
    const ended = once(child, 'close').then(() => true);
    while (!(await Promise.race([ended, sleep(0, false)]))) if ((await client.post(COOKIE)).status === 201) posted++;
    const { code, stderr } = await outcome;
    expect(code).toBe(1);
    const stored = Number(/The first ([0-9]+) lines/.exec(stderr)?.[1]);
    expect(stored + posted).toBe(2500);
    expect(countsOf(folder)).toEqual({ count: 2500, used: 2500 });
  });
});
