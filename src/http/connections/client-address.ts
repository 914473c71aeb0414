import { isIPv6 } from 'node:net';

/** The key of a client: an IPv4 address, or the first 64 bits of an IPv6 address, because one client usually has a whole /64. */
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
