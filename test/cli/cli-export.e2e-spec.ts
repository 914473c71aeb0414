import { once } from 'node:events';
import { closeSync, cpSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { line, lines, outcomeOf, run, startCommand } from '../support/command.js';
import { Client, COOKIE, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

describe('cli export', () => {
  let folder: string;
  const TEXT =
    line({ id: 1, flavor: 'vanilla' }) +
    line({ id: 2, flavor: 'cinnamon', size: 'large' }) +
    line({ id: 7, flavor: 'chocolate' });

  /** Storages that tests begin with: of the three cookies of TEXT, and of so many that no pipe takes them at once. */
  const stored = { three: '', many: '' };
  const MANY = 9000;

  beforeAll(async () => {
    for (const [name, input] of [
      ['three', TEXT],
      ['many', lines(MANY)],
    ] as const) {
      stored[name] = temporaryFolder();
      expect(await run(stored[name], ['import', 'cookies'], { input })).toMatchObject({ code: 0 });
    }
  });

  beforeEach(() => {
    folder = temporaryFolder();
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  afterAll(() => Object.values(stored).forEach((each) => rmSync(each, { recursive: true, force: true })));

  const begin = (name: keyof typeof stored): void => cpSync(stored[name], folder, { recursive: true });

  it.each<[string[], number[]]>([
    [[], [1, 2, 7]],
    [
      ['--flavor', 'vanilla', '--flavor', 'chocolate'],
      [1, 7],
    ],
    [['--size', 'large'], [2]],
    [
      ['--after', '1'],
      [2, 7],
    ],
    [['--after', '1', '--limit', '1'], [2]],
    [['--flavor', 'cinnamon', '--size', 'small'], []],
  ])('selects with %j', async (args, ids) => {
    begin('three');
    const { code, stdout, stderr } = await run(folder, ['export', 'cookies', ...args]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      TEXT.split(/(?<=\n)/)
        .filter((text) => ids.some((id) => text.includes(`"id":${id},`)))
        .join(''),
    );
    const counted = ids.length === 1 ? '1 cookie' : `${ids.length} cookies`;
    expect(stderr).toMatch(new RegExp(`^Exported ${counted}, sha256 [0-9a-f]{64}\n$`));
  });

  it.each([
    [['--flavor', 'mint'], 'Allowed choices are chocolate, vanilla, cinnamon'],
    [['--after', '-1'], 'It must be a whole number from 1 to 9007199254740991, or 0'],
    [['--limit', '0'], 'It must be a whole number from 1 on'],
    [['--colour', 'red'], "unknown option '--colour'"],
  ])('is called wrongly with %j', async (args, fault) => {
    const { code, stdout, stderr } = await run(folder, ['export', 'cookies', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(fault);
  });

  it('ends quietly when its reader has had enough', async () => {
    begin('many');
    const child = startCommand(folder, ['export', 'cookies']);
    const [first] = (await once(child.stdout!, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^\{"id":1,/);
    const outcome = outcomeOf(child);
    child.stdout!.destroy();
    expect(await outcome).toMatchObject({ code: 0, stderr: '' });
  });

  it('can be interrupted while its reader stalls', async () => {
    begin('many');
    const child = startCommand(folder, ['export', 'cookies']);
    let stderr = '';
    child.stderr!.on('data', (text) => (stderr += String(text)));
    await once(child.stdout!, 'readable');
    child.kill('SIGINT');
    await once(child, 'exit');
    expect({ code: child.exitCode, stderr }).toEqual({ code: 130, stderr: 'Interrupted.\n' });
    child.stdout!.destroy();
  });

  it('writes a file that appears whole or not at all', async () => {
    begin('many');
    const files = readdirSync(folder);
    expect(await run(folder, ['export', 'cookies', '--output', 'out.ndjson'])).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(join(folder, 'out.ndjson'), 'utf8')).toBe(lines(MANY));
    expect(readdirSync(folder).sort()).toEqual([...files, 'out.ndjson'].sort());

    writeFileSync(join(folder, 'no-folder'), '');
    const failed = await run(folder, ['export', 'cookies', '--output', 'no-folder/out.ndjson']);
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing is left of it') });
  });

  it('fails when stdout cannot take it, and says so', async () => {
    begin('three');
    // A device of Linux that is always full.
    const full = openSync('/dev/full', 'w');
    try {
      const child = startCommand(folder, ['export', 'cookies'], {}, full);
      let stderr = '';
      child.stderr!.on('data', (text) => (stderr += String(text)));
      await once(child, 'close');
      expect({ code: child.exitCode, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/^The output cannot be written: .*ENOSPC/),
      });
    } finally {
      closeSync(full);
    }
  });

  it('is of one moment, while the service is written to', async () => {
    begin('many');
    const service = await ServiceProcess.start(folder);
    try {
      const client = await Client.of(service);
      const child = startCommand(folder, ['export', 'cookies']);
      await once(child.stdout!, 'readable');
      expect((await client.post(COOKIE)).status).toBe(201);
      expect((await client.request('DELETE', '/cookies/8999')).status).toBe(204);
      expect(await outcomeOf(child)).toMatchObject({ code: 0, stdout: lines(MANY) });
    } finally {
      await service.end();
    }
  });
});
