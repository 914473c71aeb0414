import { rmSync } from 'node:fs';
import { Client, COOKIE, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

/** Number of 412 responses to check. */
const REJECTIONS = 60;

const PATCHES = 6;
const POSTS = 30;

describe('a 412 of one of two services on one database file', () => {
  let folder: string;
  let services: ServiceProcess[] = [];

  beforeAll(async () => {
    folder = temporaryFolder();
    const environment = { COOKIES_CAPACITY: '1000000' };
    for (let count = 0; count < 2; count++) services.push(await ServiceProcess.start(folder, environment));
  });

  afterAll(async () => {
    await Promise.all(services.map((service) => service.end()));
    services = [];
    rmSync(folder, { recursive: true, force: true });
  });

  it(
    `is based on a committed change, which a later GET of the other service sees: ${REJECTIONS} of them`,
    async () => {
      const [one, other] = services.map((service) => Client.of(service));
      let rejections = 0;
      let stale = 0;

      /** Sends a conditional PATCH. After a 412, checks whether the other service still returns the rejected ETag. */
      const patch = async (path: string, etag: string): Promise<void> => {
        const { status } = await one!.request('PATCH', path, {
          body: { size: 'large' },
          headers: { 'if-match': etag },
        });
        if (status !== 412) return;
        rejections++;
        const { headers } = await other!.get(path);
        if (headers.get('etag') === etag) stale++;
      };

      for (let round = 0; round < REJECTIONS && rejections < REJECTIONS; round++) {
        const created = await one!.post(COOKIE);
        const path = `/cookies/${created.body.id}`;
        const etag = created.headers.get('etag')!;
        const body = { flavor: 'cinnamon', size: 'medium' };
        await Promise.all([
          ...Array.from({ length: POSTS }, () => one!.post(COOKIE)),
          one!.request('PUT', path, { body }),
          ...Array.from({ length: PATCHES }, () => patch(path, etag)),
        ]);
      }
      expect({ rejections: rejections >= REJECTIONS, stale }).toEqual({ rejections: true, stale: 0 });
    },
    30_000 + 100 * REJECTIONS,
  );
});
