import { QueryFailedError } from 'typeorm';
import { DatabaseUnavailableError } from '../errors.js';
import { explained } from './postgres-errors.js';

describe('an error 54000 of PostgreSQL', () => {
  const explain = (message: string, routine: string) =>
    explained(Object.assign(new Error(message), { code: '54000', routine }), 'INSERT', []);

  it.each(['GetNewTransactionId', 'GetNewMultiXactId'])(
    'of %s is unavailable: the server needs a VACUUM',
    (routine) => {
      const message = 'database is not accepting commands to avoid wraparound data loss in database "orders"';
      expect(explain(message, routine)).toBeInstanceOf(DatabaseUnavailableError);
      expect(explain(message, routine)).toMatchObject({
        message: expect.stringContaining(message),
        kind: 'unreachable',
      });
    },
  );

  it('of an index is an error of the statement', () => {
    const message = 'index row size 2808 exceeds btree version 4 maximum 2704 for index "orders_code"';
    expect(explain(message, '_bt_check_third_page')).toBeInstanceOf(QueryFailedError);
  });
});
