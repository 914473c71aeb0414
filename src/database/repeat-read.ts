import { ConnectionLostError } from './errors.js';

/** Attempts in all. */
const ATTEMPTS = 3;

/**
 * Runs a read, and again if its connection broke: a pooled connection may lead to a stopped server. `read` must not
 * have sent anything to the client when it rejects.
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
