import { ConfigError } from '../config/config.js';

/** The first descriptor that systemd passes (sd_listen_fds(3)). */
export const SYSTEMD_SOCKET = 3;

/**
 * Tells whether systemd has passed a socket to this process (`deploy/systemd`). A parent's variables do not count.
 * @throws {ConfigError} for more than one socket
 */
export function hasSocket(): boolean {
  // eslint-disable-next-line no-restricted-syntax -- not a setting: systemd writes it for each process
  const { LISTEN_PID, LISTEN_FDS } = process.env;
  if (LISTEN_PID !== String(process.pid)) return false;
  if (LISTEN_FDS === '1') return true;
  throw new ConfigError([
    `systemd has passed ${LISTEN_FDS} sockets (LISTEN_FDS), and the service takes one: leave one ListenStream in its .socket unit`,
  ]);
}
