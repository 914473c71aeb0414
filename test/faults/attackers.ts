/** The clients of one attack in a separate process, so that they do not slow down the measured clients. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ATTACKS } from './attacks.js';

export interface Orders {
  readonly attack: string;
  readonly port: number;
  /** Tokens of the attackers, in turn. */
  readonly bearers: readonly string[];
  readonly seconds: number;
  readonly attackers: number;
}

const { attack, port, bearers, seconds, attackers } = JSON.parse(process.argv[2]!) as Orders;
const { run, addresses = ['127.0.0.1'] } = ATTACKS.find(({ name }) => name === attack)!;
const counts = { connections: 0, requests: 0 };
const ended = new AbortController();
setTimeout(() => ended.abort(), seconds * 1000);
const { signal } = ended;
// The process that started this one may have ended.
process.on('disconnect', () => process.exit(1));

await Promise.race([
  Promise.all(
    Array.from({ length: attackers }, async (_, index) => {
      await sleep(10 * index);
      const bearer = bearers[index % bearers.length]!;
      const address = addresses[index % addresses.length]!;
      await run({ index, port, bearer, address, signal, count: (what, times = 1) => void (counts[what] += times) });
    }),
  ),
  sleep((seconds + 10) * 1000),
]);
process.send!(counts, () => process.exit(0));
