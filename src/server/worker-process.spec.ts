import { fork } from 'node:child_process';
import { jest } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { WorkerChannel } from './worker-process.js';

/** Sends each of its arguments as a request, and prints the replies. */
const ASKING = `
  const names = process.argv.slice(2);
  process.on('message', ({ id, value }) => {
    console.log(names[id] + ': ' + value);
    if (id === names.length - 1) process.disconnect();
  });
  names.forEach((request, id) => process.send({ channel: 'service-workers', id, request }));`;

describe('the channel between primary and worker', () => {
  it('replies to known and unknown requests, and logs the error of one that fails', async () => {
    const error = jest.fn();
    Logger.overrideLogger({ log: error, warn: error, error });
    const program = join(mkdtempSync(join(tmpdir(), 'worker-')), 'asking.cjs');
    writeFileSync(program, ASKING);
    const child = fork(program, ['fails', 'unknown', 'works'], { silent: true });
    new WorkerChannel(child, { fails: () => Promise.reject(new Error('no')), works: () => 'yes' });
    let output = '';
    child.stdout!.on('data', (text: Buffer) => (output += String(text)));
    await once(child, 'close');
    expect(output.trim().split('\n').sort()).toEqual(['unknown: undefined', 'works: yes']);
    expect(error).toHaveBeenCalledTimes(1);
  });
});
