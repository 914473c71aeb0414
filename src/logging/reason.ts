/** The message of an error with that of its cause, in one line. */
export function reasonOf({ message, cause }: Error): string {
  // An error of another realm is not an instance of this Error.
  const inner = (cause as Error | undefined)?.message;
  return typeof inner !== 'string' || message.includes(inner) ? message : `${message}: ${inner}`;
}

/** The stack of an error with its message, which rxjs and others set after the stack was taken. */
export function stackOf(error: Error): string {
  const stack = String(error.stack);
  return stack.includes(error.message) ? stack : `${error}\n${stack}`;
}
