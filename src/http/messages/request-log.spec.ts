import fc from 'fast-check';
import { pino } from 'pino';
import { LogBuffer } from '../../logging/log-buffer.js';
import type { Log } from '../../logging/logger.js';
import { timestamp } from '../../logging/timestamp.js';
import type { RequestEnd, RequestRecord } from '../connections/request-record.js';
import { logRequests } from './request-log.js';

const MESSAGES = { sent: 'request', 'cut off': 'request cut off', dropped: 'request dropped' };
/** Digits that differ from one line to the next. */
const TIME = /"time":"[^"]+"/;

let lines: string[];

/** A log as `createLog` makes it, into `lines`. */
function log(level = 'info'): Log {
  const destination = Object.assign(new LogBuffer(-1), {
    write: (line: string) => void lines.push(line.replace(TIME, '"time"')),
  });
  const formatters = { level: (label: string) => ({ level: label }) };
  return { logger: pino({ level, base: null, timestamp, formatters }, destination), destination };
}

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '"', '\\', '\n', '\u007f', '\u2028', '\ud800', 'ä', '::ffff:127.0.0.1', 'a]b^c#d!'),
);
const absent = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(values, { nil: undefined });

const records: fc.Arbitrary<RequestRecord> = fc.record({
  requestId: fc.oneof(fc.uuid(), fc.stringMatching(/^[A-Za-z0-9._-]{1,128}$/)),
  method: fc.constantFrom('GET', 'POST', 'M-SEARCH', 'unknown'),
  route: text,
  status: absent(fc.integer({ min: 100, max: 599 })),
  milliseconds: fc.integer({ min: 0, max: 1e9 }).map((microseconds) => microseconds / 1000),
  subject: absent(text),
  address: absent(text),
});

describe('logRequests', () => {
  beforeEach(() => {
    lines = [];
  });

  it('writes the line that pino writes, to the byte, whatever the texts of a request hold', () => {
    const ends = fc.constantFrom<RequestEnd>('sent', 'cut off', 'dropped');
    const both = log();
    const listener = logRequests(both);
    const check = fc.property(records, ends, (record, end) => {
      lines = [];
      listener(record, end);
      both.logger.info(record, MESSAGES[end]);
      expect(lines).toHaveLength(2);
      expect(lines[0]).toBe(lines[1]);
    });
    fc.assert(check, { numRuns: 2000 });
  });

  it('writes nothing while only more severe lines are logged, and again when the level is lowered', () => {
    const both = log('warn');
    const listener = logRequests(both);
    const record = { requestId: 'a', method: 'GET', route: '/orders', milliseconds: 1 };
    listener(record, 'sent');
    expect(lines).toEqual([]);
    both.logger.level = 'info';
    listener(record, 'sent');
    expect(lines).toEqual([
      '{"level":"info","time","requestId":"a","method":"GET","route":"/orders","milliseconds":1,"msg":"request"}\n',
    ]);
  });
});
