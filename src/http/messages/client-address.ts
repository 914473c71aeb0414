import { BlockList, isIPv6 } from 'node:net';

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

/** The names of networks that `TRUST_PROXY` accepts, as the package proxy-addr defines them. */
const NAMED_NETWORKS: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** The addresses of the proxies in `TRUST_PROXY`; `undefined` if it is off. */
export function trustedProxies(names: false | readonly string[]): BlockList | undefined {
  if (names === false) return undefined;
  const proxies = new BlockList();
  for (const network of names.flatMap((name) => NAMED_NETWORKS[name] ?? [name])) {
    const [address = '', prefix] = network.split('/');
    const type = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) proxies.addAddress(address, type);
    else proxies.addSubnet(address, Number(prefix), type);
  }
  return proxies;
}
