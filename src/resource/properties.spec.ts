import { validateSync } from 'class-validator';
import { DecimalProperty } from './properties.js';

class Payment {
  @DecimalProperty(10, 2, { minimum: 100 })
  amount!: string;
}

it('DecimalProperty gives an example in its error that is not less than its least value', () => {
  const [error] = validateSync(Object.assign(new Payment(), { amount: '99.99' }));
  expect(Object.values(error!.constraints!)[0]).toContain('such as "100.00"');
  expect(validateSync(Object.assign(new Payment(), { amount: '100.00' }))).toEqual([]);
});
