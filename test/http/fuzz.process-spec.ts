import { fuzz, type Part } from '../fuzz/fuzz.js';

it.each<[Part, string]>([
  [
    'raw',
    'mutated bytes are answered in order, once, with a documented status, and leave one request line for each change, and one count for each line',
  ],
  ['model', 'right and wrong operations of concurrent clients are answered as the contract says'],
])(
  'a short run of the fuzzer of the part %s: %s',
  async (part) => {
    const reports: string[] = [];
    const run = { seed: 9, requests: 1200, clients: 8, parts: [part], report: (text: string) => reports.push(text) };
    const passed = await fuzz({ ...run, progress: (text) => reports.push(text) });
    if (!passed) throw new Error(reports.join('\n'));
  },
  120_000,
);
