import { join } from 'node:path';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { statements } from '../../src/database/database-events.js';
import { follow, ids as idsOf } from '../support/resource/pages.js';
import { sharedService } from '../support/service.js';

const RECORDS = 200_000;
/** Maximum rows that one statement of a list may read; see `statementLimits` of sqlite-driver.ts. */
const SCANNED_ROWS = 2000;
/** Ids of cinnamon cookies. All others are vanilla; none is chocolate. */
const RARE = [1, 2, 2000, 2001, 99_999, 198_000, 199_999, 200_000];
/** Deleted ids, more than one statement reads. */
const GAP = { first: 100_000, last: 110_000 };

const FILL = `
  WITH RECURSIVE numbers(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM numbers WHERE id < ${RECORDS})
  INSERT INTO cookies (id, flavor, size, wish, revision)
  SELECT id, CASE WHEN id IN (${RARE.join(', ')}) THEN 'cinnamon' ELSE 'vanilla' END,
    CASE id % 2 WHEN 0 THEN 'small' ELSE 'large' END, 'May your tests be green ' || id, id
  FROM numbers WHERE id NOT BETWEEN ${GAP.first} AND ${GAP.last}`;

/** Counts the reading statements, and the turns of the event loop, while `work` runs. */
async function counted(work: () => Promise<void>): Promise<{ statements: number; turns: number }> {
  const counts = { statements: 0, turns: 0 };
  const onStatement = (): void => void counts.statements++;
  const onTurn = (): void => {
    counts.turns++;
    turn = setImmediate(onTurn);
  };
  let turn = setImmediate(onTurn);
  statements.subscribe(onStatement);
  try {
    await work();
    return counts;
  } finally {
    statements.unsubscribe(onStatement);
    clearImmediate(turn);
  }
}

describe('a filtered list of 200 000 records', () => {
  const { service, client } = sharedService({ COOKIES_CAPACITY: String(2 * RECORDS), LIST_CACHE_BYTES: '0' });

  const ids = async (path: string): Promise<number[]> => {
    const response = await client.get(path);
    expect(response.status).toBe(200);
    return idsOf(response) as number[];
  };

  beforeAll(() => {
    using file = openDatabase(join(service.folder, 'cookies.sqlite'));
    file.exec(FILL);
  });

  it.each([
    '/cookies?flavor=chocolate',
    '/cookies?flavor=chocolate&sort=-id',
    '/cookies?flavor=chocolate&flavor=cinnamon&size=medium&limit=1000',
    '/cookies?size=medium',
  ])('GET %s responds 200 [] with many short statements, and lets the event loop turn between them', async (path) => {
    const { statements, turns } = await counted(async () => expect(await ids(path)).toEqual([]));
    expect(statements).toBeGreaterThan((RECORDS - 20_000) / SCANNED_ROWS);
    expect(turns).toBeGreaterThan(5);
  });

  it('GET returns every match, in both orders, wherever it is', async () => {
    expect(await ids('/cookies?flavor=cinnamon')).toEqual(RARE);
    expect(await ids('/cookies?flavor=cinnamon&sort=-id')).toEqual([...RARE].reverse());
    expect(await ids('/cookies?flavor=cinnamon&flavor=chocolate&size=large')).toEqual(
      RARE.filter((id) => id % 2 === 1),
    );
    expect(await ids(`/cookies?flavor=cinnamon&after=${GAP.first}`)).toEqual([198_000, 199_999, 200_000]);
    expect(await ids(`/cookies?flavor=cinnamon&sort=-id&after=${GAP.first}`)).toEqual([99_999, 2001, 2000, 2, 1]);
  });

  it.each([
    ['id', RARE],
    ['-id', [...RARE].reverse()],
  ])('GET with limit and sort=%s links pages that are exact, and the last one to none', async (sort, expected) => {
    for (const limit of [3, 8]) {
      const pages = await follow(client, `/cookies?flavor=cinnamon&sort=${sort}&limit=${limit}`);
      expect(pages.flatMap(idsOf)).toEqual(expected);
      expect(pages).toHaveLength(Math.ceil(RARE.length / limit));
    }
  });

  it('GET returns as many records as limit asks for if nearly all match', async () => {
    const first = Array.from({ length: 1002 }, (_, index) => index + 1).filter((id) => !RARE.includes(id));
    expect(await ids('/cookies?flavor=vanilla&limit=1000')).toEqual(first);
    const across = await ids(`/cookies?flavor=vanilla&limit=4&after=${GAP.first - 4}`);
    expect(across).toEqual([GAP.first - 3, GAP.first - 2, GAP.last + 1, GAP.last + 2]);
  });
});
