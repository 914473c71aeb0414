import { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Connection, type CutReason } from './connection.js';
import { Connections } from './connections.js';
import { CompactRequest } from './node-internals.js';
import { RequestTracker, TrackedResponse } from './request-tracker.js';

const LIMITS = { connections: 1, connectionsPerAddress: 1, bufferedBytes: 1 };

const close = (milliseconds: number): number => expect.closeTo(milliseconds) as number;

let handled: number;

/** Receives a request whose body has not arrived. */
function receive({ pauseForChunks = (): number => 0, cuts = new Map<CutReason, number>() } = {}) {
  handled = 0;
  const socket = new Socket();
  const ofOwner = { requests: new RequestTracker(1), requestHandler: () => handled++ };
  const headers = { host: 'service', 'content-length': '5' };
  const request = Object.assign(new CompactRequest(socket), { httpVersionMajor: 1, httpVersionMinor: 1, headers });
  new Connection(socket, { ...ofOwner, pauseForChunks, cuts }).receive(new TrackedResponse(request));
  return { socket, request };
}

const push = (request: CompactRequest, chunks: number, length = 255): void => {
  for (let chunk = 0; chunk < chunks; chunk++) request.push(Buffer.alloc(length));
};

it('a request whose connection closes before its turn is not handled', async () => {
  const { socket } = receive();
  socket.destroy();
  await nextTurn();
  expect(handled).toBe(0);
});

it('256 small chunks of a body pause the connection for the time that its owner says', async () => {
  const pauses = [20, 60];
  const { socket, request } = receive({ pauseForChunks: () => pauses.shift()! });
  push(request, 255);
  push(request, 1000, 256);
  expect(socket.isPaused()).toBe(false);
  push(request, 1);
  expect(socket.isPaused()).toBe(true);
  push(request, 256);
  await sleep(40);
  expect(socket.isPaused()).toBe(true);
  await sleep(40);
  expect(socket.isPaused()).toBe(false);
});

it('small chunks that need a pause of more than a second cut the connection', () => {
  const cuts = new Map<CutReason, number>([['overload', 0]]);
  const { socket, request } = receive({ pauseForChunks: () => 1001, cuts });
  push(request, 256);
  expect([socket.destroyed, cuts.get('overload')]).toEqual([true, 1]);
});

it('the pauses for small chunks of all connections add up, and end as time passes', () => {
  using now = jest.spyOn(performance, 'now').mockReturnValue(5000);
  const connections = new Connections({ requestTimeout: 1, keepAliveTimeout: 1, stallTimeout: 1, ...LIMITS });
  expect([connections.pauseForChunks(), connections.pauseForChunks()]).toEqual([2.56, 5.12].map(close));
  now.mockReturnValue(6000);
  expect(connections.pauseForChunks()).toEqual(close(2.56));
});
