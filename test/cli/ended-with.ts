import type { Outcome } from '../support/command.js';

/** The outcome of a command with this exit code and message. */
export const endedWith = (code: number, message: string | RegExp) => ({
  code,
  stderr: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
});

/** Expects that a command ends with this exit code and message. */
export async function expectEnd(outcome: Outcome | Promise<Outcome>, code: number, message: string | RegExp) {
  expect(await outcome).toMatchObject(endedWith(code, message));
}
