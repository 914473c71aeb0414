/**
 * Gives cookies a rule over several records. It runs a statement for each new record with RULE=one, otherwise one
 * statement for each transaction.
 */
import process from 'node:process';
import { COOKIES } from '../../../dist/src/cookies/cookie.resource.js';

const tooMany = (ids) => `
  SELECT cookie.id FROM cookies AS cookie JOIN cookies AS other ON other.id BETWEEN cookie.id - 2 AND cookie.id
  WHERE cookie.id IN (${ids.map(() => '?').join(', ')}) GROUP BY cookie.id HAVING count(*) > 3`;

async function checkAll(changes, transaction) {
  const ids = changes.map(({ after }) => after.id);
  const [found] = await transaction.query(tooMany(ids), ids);
  if (found !== undefined) throw new Error(`There are more cookies than ids before ${found.id}`);
}

const check = (change, transaction) => checkAll([change], transaction);

Object.assign(COOKIES, { rule: () => Promise.resolve(process.env.RULE === 'one' ? { check } : { checkAll }) });
await import('../../../dist/src/main.js');
