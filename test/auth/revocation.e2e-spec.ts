import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { committed, transaction } from '../../src/database/engine.js';
import { run } from '../support/command.js';
import { sharedService } from '../support/service.js';
import { until } from '../support/until.js';
import { claims, expectInvalidToken, HS256, jws, list, now } from './jws.js';

/** Milliseconds in which a revocation must reach every process. */
const REACH = 5000;

describe('cli revoke', () => {
  const { service } = sharedService();

  async function expectRevoked(token: string): Promise<void> {
    await until(async () => (await list(service, token)).status !== 200, 'the token is rejected', REACH);
    const answer = await list(service, token);
    expectInvalidToken(answer);
    expect(answer.body.message).toBe('The token was revoked');
  }

  const dataSource = () => service.app.get<DataSource>(getDataSourceToken(), { strict: false });
  const revoke = (...args: string[]) => run(service.folder, ['revoke', ...args]);

  it.each(['one', 42])('--jti %p rejects that token within 5 s, though it was cached, and no other', async (id) => {
    const [token, other] = [id, 'two'].map((jti) => jws(HS256, claims({ jti }))) as [string, string];
    expect((await list(service, token)).status).toBe(200);
    expect(await revoke('--jti', `${id}`)).toMatchObject({ code: 0, stdout: expect.stringContaining(`jti ${id}`) });
    await expectRevoked(token);
    expect((await list(service, other)).status).toBe(200);
  });

  it('--sub rejects the tokens issued until now or in the future, and accepts those of a later sign-in', async () => {
    const [older, newer] = [now() - 300, now() - 60];
    const tokens = [undefined, older, now() + 120].map((iat) => jws(HS256, claims({ sub: 'bob', iat })));
    const later = jws(HS256, claims({ sub: 'bob', iat: newer }));
    for (const token of [...tokens, later]) expect((await list(service, token)).status).toBe(200);
    expect((await revoke('--sub', 'bob')).code).toBe(0);
    for (const token of [...tokens, later]) await expectRevoked(token);
    await transaction(dataSource(), (sql) => sql.sql`UPDATE revoked_tokens SET revoked = ${older} WHERE value = 'bob'`);
    await until(async () => (await list(service, later)).status === 200, 'the token of the later sign-in is accepted');
    for (const token of tokens) await expectRevoked(token);
  });

  it('--sub keeps an earlier revocation that reaches further, such as one before the clock was set back', async () => {
    expect((await revoke('--sub', 'dave')).code).toBe(0);
    const [row] = await transaction(
      dataSource(),
      (sql) => sql.sql<{ revoked: number; expires: number }[]>`
        UPDATE revoked_tokens SET revoked = revoked + 300, expires = expires + 300 WHERE value = 'dave'
        RETURNING revoked, expires`,
    );
    const until = new Date((row!.revoked + 30) * 1000).toISOString().slice(0, 19);
    expect(await revoke('--sub', 'dave')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`until ${until}Z`),
    });
    const rows = await committed(dataSource()).sql`SELECT revoked, expires FROM revoked_tokens WHERE value = 'dave'`;
    expect(rows).toEqual([row]);
  });

  it('--issuer rejects only the tokens of that issuer', async () => {
    const [ours, theirs] = ['ours', 'theirs'].map((iss) => jws(HS256, claims({ sub: 'carol', iss }))) as [
      string,
      string,
    ];
    expect((await revoke('--sub', 'carol', '--issuer', 'theirs')).code).toBe(0);
    await expectRevoked(theirs);
    expect((await list(service, ours)).status).toBe(200);
  });

  it('--jti rejects the token within 5 s also when the table live_settings cannot be read', async () => {
    const token = jws(HS256, claims({ jti: 'beside' }));
    await dataSource().query('ALTER TABLE live_settings RENAME TO others');
    try {
      expect((await revoke('--jti', 'beside')).code).toBe(0);
      await expectRevoked(token);
    } finally {
      await dataSource().query('ALTER TABLE others RENAME TO live_settings');
    }
  });

  it('a revocation is deleted with the next one when all tokens of its time have expired', async () => {
    await revoke('--jti', 'pruned');
    const count = async (): Promise<number> => {
      const rows = await committed(dataSource()).sql<unknown[]>`SELECT 1 FROM revoked_tokens WHERE value = 'pruned'`;
      return rows.length;
    };
    expect(await count()).toBe(1);
    await transaction(dataSource(), (sql) => sql.sql`UPDATE revoked_tokens SET expires = 1 WHERE value = 'pruned'`);
    await revoke('--jti', 'next');
    expect(await count()).toBe(0);
  });
});
