/** The outcome of a command with this exit code and message. */
export const endedWith = (code: number, message: string | RegExp) => ({
  code,
  stderr: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
});
