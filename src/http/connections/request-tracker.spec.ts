import { Socket } from 'node:net';
import { CompactRequest } from './request-tracker.js';

it('CompactRequest passes small chunks on immediately to a reader that asks for them with read()', () => {
  const request = new CompactRequest(new Socket());
  expect(request.read()).toBeNull();
  for (const chunk of ['one', 'two']) {
    request.push(Buffer.from(chunk));
    expect(String(request.read())).toBe(chunk);
  }
});
