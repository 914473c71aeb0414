import { isIP, isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** An address with a port, as some proxies forward it: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
const WITH_PORT = /^(?:([0-9.]+)|\[(.+)\])(?::[0-9]+)?$/;

/**
 * The client's address without a port.
 * @param forwarded `ip` of the request, which may be any text of a trusted proxy
 * @param connected address of the connection
 */
export function clientAddress(forwarded: string, connected: string | undefined): string | undefined {
  if (isIP(forwarded) !== 0) return forwarded;
  const [, ipv4, ipv6] = WITH_PORT.exec(forwarded) ?? [];
  const address = ipv4 ?? ipv6 ?? '';
  return isIP(address) === 0 ? connected : address;
}

/** The `addressKey` of the client that sent a request. */
export function clientKey({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  return addressKey(clientAddress(ip, socket.remoteAddress));
}

/** The key under which a client is counted: its IPv4 address, or the /64 network of its IPv6 address. */
export function addressKey(address = ''): string {
  if (!isIPv6(address)) return address;
  if (address.startsWith('::ffff:')) return address.slice('::ffff:'.length);
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length;
  return [...groups, ...Array<string>(Math.max(missing, 0)).fill('0'), ...(tail ?? '').split(':')]
    .slice(0, 4)
    .join(':');
}
