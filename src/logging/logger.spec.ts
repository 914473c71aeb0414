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
