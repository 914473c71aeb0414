/** Largest body that is read, in bytes. */
export const BODY_LIMIT = 16 * 1024;
