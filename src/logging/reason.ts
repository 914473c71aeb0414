/** The message of an error with that of its cause, in one line. */
export function reasonOf({ message, cause }: Error): string {
  // An error of another realm is not an instance of this Error.
  const inner = (cause as Error | undefined)?.message;
  return typeof inner !== 'string' || message.includes(inner) ? message : `${message}: ${inner}`;
}
