/** Milliseconds for which a probe or a scrape waits for the database: those who ask have little more themselves. */
export const DATABASE_TIMEOUT = 2000;

/** What `promise` resolves to, or `late` after `DATABASE_TIMEOUT`. */
export async function withinTimeout<T>(promise: Promise<T>, late: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<T>((resolve) => {
    // Where the event loop was busy for long, the response may have arrived meanwhile: it is read before `setImmediate`.
    timer = setTimeout(() => setImmediate(resolve, late), DATABASE_TIMEOUT);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
