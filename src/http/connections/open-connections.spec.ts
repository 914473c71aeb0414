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
