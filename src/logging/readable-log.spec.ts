import { readableLog } from './readable-log.js';
import type { LogBuffer } from './standard-output.js';

it('writes "without a response" for a request that was cut off before its response had a status', () => {
  const lines: string[] = [];
  const buffer = { write: (line: string) => void lines.push(line), flush: () => {} } as unknown as LogBuffer;
  const request = { method: 'GET', route: '/slow', milliseconds: 3, requestId: 'r-1', msg: 'request cut off' };
  readableLog(buffer).write(JSON.stringify({ level: 'info', time: new Date(0).toISOString(), ...request }));
  expect(lines.join('')).toMatch(/GET \/slow without a response in 3 ms \(r-1\) request cut off/);
});
