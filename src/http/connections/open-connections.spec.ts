import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Connection } from './connection.js';
import { type ConnectionLimits, OpenConnections } from './open-connections.js';

it('adding a connection below the limits reads none of the others', () => {
  const open = new OpenConnections({ connections: 4000, connectionsPerAddress: 100 } as ConnectionLimits);
  let reads = 0;
  const connectionOf = (address: string) => ({
    address,
    get addressKey() {
      reads += 1;
      return address;
    },
  });
  for (let number = 0; number < 3000; number++) {
    open.add(connectionOf(`10.0.${number >> 6}.1`) as unknown as Connection);
  }
  expect(open.size).toBe(3000);
  expect(reads).toBe(3000);
});

it('keeps so many connections that the process has descriptors for its files, and warns of a lower limit', () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const limits = { connections: 4000, connectionsPerAddress: 4000 } as ConnectionLimits;
  const open = new OpenConnections(limits, 1024);
  const cut = jest.fn();
  for (let number = 0; number < 1024; number++) {
    open.add({ address: '10.0.0.1', addressKey: '10.0.0.1', priority: 2, cut } as unknown as Connection);
  }
  expect(open.size).toBe(724);
  expect(cut).toHaveBeenCalledTimes(300);
  expect(warn).toHaveBeenCalledWith(expect.stringMatching(/1024 files, .* 724 of 4000 .* to 4300, or lower MAX_CONN/));
  warn.mockClear();
  expect(new OpenConnections(limits, 4300).size).toBe(0);
  expect(warn).not.toHaveBeenCalled();
  warn.mockRestore();
});
