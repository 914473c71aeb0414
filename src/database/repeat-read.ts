import { ConnectionLostError } from './errors.js';

/** How often a read is tried, the first time included. */
const ATTEMPTS = 3;

/**
 * Runs what only reads, and again when its connection broke: a pooled one may lead to a server that is gone. `read` must have
 * sent nothing to anybody when it rejects.
 */
export async function repeatRead<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ConnectionLostError) || attempt === ATTEMPTS) throw error;
    }
  }
}
