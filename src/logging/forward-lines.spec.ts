import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { forwardLines } from './forward-lines.js';
import { LogBuffer } from './log-buffer.js';

describe('the lines of several processes', () => {
  let folder: string;
  let descriptor: number;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lines-'));
    descriptor = openSync(join(folder, 'log'), 'w');
  });

  afterEach(() => {
    closeSync(descriptor);
    rmSync(folder, { recursive: true });
  });

  it('are written whole though they arrive in pieces, and that of a process which was killed ends where the next begins', async () => {
    const target = new LogBuffer(descriptor);
    const [one, other] = [new PassThrough(), new PassThrough()];
    forwardLines(one, target);
    forwardLines(other, target);
    one.write('one 1\none 2, fir');
    other.write('other 1');
    one.write('st half and ');
    other.write(Buffer.from('é\nother 2\n').subarray(0, 1));
    one.write('second\none 3');
    other.write(Buffer.from('é\nother 2\n').subarray(1));
    one.end();
    other.end();
    await Promise.all([finished(one), finished(other)]);
    target.finish();
    const lines = readFileSync(join(folder, 'log'), 'utf8').split('\n');
    expect(lines.sort()).toEqual(['', 'one 1', 'one 2, first half and second', 'one 3', 'other 1é', 'other 2']);
  });
});
