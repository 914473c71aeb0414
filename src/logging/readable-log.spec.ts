import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { readableLog } from './readable-log.js';
import { LogBuffer } from './standard-output.js';

it('writes "without a response" for a request that was cut off before its response had a status', () => {
  const file = join(temporaryFolder(), 'log');
  const request = { method: 'GET', route: '/slow', milliseconds: 3, requestId: 'r-1', msg: 'request cut off' };
  const line = JSON.stringify({ level: 'info', time: new Date(0).toISOString(), ...request });
  readableLog(new LogBuffer(openSync(file, 'w'))).write(line);
  expect(readFileSync(file, 'utf8')).toMatch(/GET \/slow without a response in 3 ms \(r-1\) request cut off/);
});
