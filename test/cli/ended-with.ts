import type { Outcome } from '../support/command.js';

export const endedWith = (code: number, message: string | RegExp) => ({
  code,
  stderr: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
});

export async function expectEnd(outcome: Outcome | Promise<Outcome>, code: number, message: string | RegExp) {
  expect(await outcome).toMatchObject(endedWith(code, message));
}
