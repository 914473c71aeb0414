/** Largest body of a route without `@AcceptsBody()`, in bytes. */
export const BODY_LIMIT = 16 * 1024;

/** Largest limit of a body that is kept in memory: JSON or a `Buffer`. */
export const LARGEST_IN_MEMORY = 16 * 1024 * 1024;

export const MULTIPART = 'multipart/form-data';

/** The property of an operation in the OpenAPI document that has its body limit, in bytes. */
export const LIMIT_EXTENSION = 'x-body-limit';

/** A length in words: `16 KiB`, `1000000 bytes`. */
export function lengthOf(bytes: number): string {
  if (bytes % (1024 * 1024) === 0) return `${bytes / (1024 * 1024)} MiB`;
  return bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} bytes`;
}
