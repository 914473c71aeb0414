import { pino } from 'pino';
import { NestLogger } from './logger.js';

it.each([
  ['Unable to connect to the database (second). Retrying (1)...', 'TypeOrmModule', 50],
  ['Cannot resolve a dependency', 'ExceptionHandler', 20],
  ['The disk is on fire', 'Disk', 50],
])('%j of %s has the level %d: the start prints only its own error', (message, context, level) => {
  const lines: string[] = [];
  const logger = new NestLogger(pino({ level: 'trace' }, { write: (line) => void lines.push(line) }));
  logger.error(message, 'stack', context);
  expect(JSON.parse(lines.join(''))).toMatchObject({ level, msg: message, context });
});

it('logs a stack as the detail of a message, and the stack of an error once, without a context', () => {
  const lines: string[] = [];
  const logger = new NestLogger(pino({ level: 'trace', base: null }, { write: (line) => void lines.push(line) }));
  const error = new Error('the disk burns');
  logger.error('A job failed', error.stack);
  logger.error(error, error.stack);
  const [message, thrown] = lines.map((line) => JSON.parse(line) as object);
  expect(message).toEqual({ level: 50, time: expect.any(Number), msg: 'A job failed', detail: error.stack });
  const err = { type: 'Error', message: error.message, stack: error.stack };
  expect(thrown).toEqual({ level: 50, time: expect.any(Number), msg: error.message, err });
});
