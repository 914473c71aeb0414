import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Config } from '../config/config.js';

/** The first descriptor that systemd passes (sd_listen_fds(3)). */
const FIRST = 3;

/**
 * Listens on HOST and PORT, or on the socket that systemd holds for the service (`deploy/systemd`).
 * @throws {Error} for more than one socket
 */
export async function listen(app: NestFastifyApplication, { host, port }: Config): Promise<void> {
  await app.listen(hasSocket() ? { host, port, fd: FIRST } : { host, port });
}

/** Tells whether systemd has passed a socket to this process. A parent's variables do not count. */
export function hasSocket(): boolean {
  // eslint-disable-next-line no-restricted-syntax -- not a setting: systemd writes it for each process
  const { LISTEN_PID, LISTEN_FDS } = process.env;
  if (LISTEN_PID !== String(process.pid)) return false;
  if (LISTEN_FDS === '1') return true;
  throw new Error(
    `systemd has passed ${LISTEN_FDS} sockets (LISTEN_FDS), and the service takes one: leave one ListenStream in its .socket unit`,
  );
}
