import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderWith, line, lines, outcomeOf, run, startCommand } from '../support/command.js';
import { Client, COOKIE, startService, temporaryFolder } from '../support/service.js';
import { endedWith, expectEnd } from './ended-with.js';

describe('cli export', () => {
  let folder: string;
  const TEXT =
    line({ id: 1, flavor: 'vanilla' }) +
    line({ id: 2, flavor: 'cinnamon', size: 'large' }) +
    line({ id: 7, flavor: 'chocolate' });

  /** Longer than the buffer of a pipe. */
  const MANY = lines(9000);

  beforeEach(() => {
    folder = temporaryFolder();
  });

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
  ])('selects the records of %j', async (args, ids) => {
    folder = await folderWith(TEXT);
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

  it('ends without an error when its reader closes the pipe', async () => {
    folder = await folderWith(MANY);
    const child = startCommand(folder, ['export', 'cookies']);
    const [first] = (await once(child.stdout!, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^\{"id":1,/);
    const outcome = outcomeOf(child);
    child.stdout!.destroy();
    expect(await outcome).toMatchObject({ code: 0, stderr: '' });
  });

  it('can be interrupted while its reader stalls', async () => {
    folder = await folderWith(MANY);
    const child = startCommand(folder, ['export', 'cookies']);
    let stderr = '';
    child.stderr!.on('data', (text) => (stderr += String(text)));
    await once(child.stdout!, 'readable');
    child.kill('SIGINT');
    await once(child, 'exit');
    expect({ code: child.exitCode, stderr }).toEqual({ code: 130, stderr: 'Interrupted.\n' });
    child.stdout!.destroy();
  });

  it('writes a file that appears complete or not at all', async () => {
    folder = await folderWith(MANY);
    const files = readdirSync(folder);
    expect(await run(folder, ['export', 'cookies', '--output', 'out.ndjson'])).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(join(folder, 'out.ndjson'), 'utf8')).toBe(MANY);
    expect(readdirSync(folder).sort()).toEqual([...files, 'out.ndjson'].sort());

    writeFileSync(join(folder, 'no-folder'), '');
    const failed = await run(folder, ['export', 'cookies', '--output', 'no-folder/out.ndjson']);
    expect(failed).toMatchObject(endedWith(1, 'The incomplete file was removed'));
  });

  it.each([
    ['export cookies', /^The output is not complete: .*ENOSPC/],
    ['backup -', /^There is no new backup: .*ENOSPC/],
    ['doctor', /^The output cannot be written: .*ENOSPC/],
  ])('%s fails with a message when stdout cannot be written, and leaves no file', async (command, message) => {
    folder = await folderWith(TEXT);
    const files = readdirSync(folder);
    // A device of Linux that is always full.
    const full = openSync('/dev/full', 'w');
    const child = startCommand(folder, command.split(' '), {}, full);
    closeSync(full);
    await expectEnd(outcomeOf(child), 1, message);
    expect(readdirSync(folder)).toEqual(files);
  });

  it('writes one consistent state while clients write', async () => {
    folder = await folderWith(MANY);
    await using service = await startService({ DATABASE_URL: `sqlite:${join(folder, 'cookies.sqlite')}` });
    const client = Client.of(service);
    const child = startCommand(folder, ['export', 'cookies']);
    await once(child.stdout!, 'readable');
    expect((await client.post(COOKIE)).status).toBe(201);
    expect((await client.request('DELETE', '/cookies/8999')).status).toBe(204);
    expect(await outcomeOf(child)).toMatchObject({ code: 0, stdout: MANY });
  });
});
