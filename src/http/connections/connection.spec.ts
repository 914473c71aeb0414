import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Connection } from './connection.js';
import { CompactRequest, RequestTracker, TrackedResponse } from './request-tracker.js';

it('a request whose connection closes before its turn is not handled', async () => {
  const socket = new Socket();
  let handled = 0;
  const ofOwner = { requests: new RequestTracker(1), requestHandler: () => handled++, freeMemory: () => true };
  const headers = { host: 'service', 'content-length': '5' };
  const request = Object.assign(new CompactRequest(socket), { httpVersionMajor: 1, httpVersionMinor: 1, headers });
  const connection = new Connection(socket, { ...ofOwner, cuts: new Map() });
  connection.receive(new TrackedResponse(request));
  socket.destroy();
  await nextTurn();
  expect(handled).toBe(0);
});
