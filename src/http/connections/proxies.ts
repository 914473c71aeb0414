import { BlockList, isIPv6 } from 'node:net';

/** The names that `TRUST_PROXY` takes beside addresses, as the package proxy-addr defines them. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** The proxies that `TRUST_PROXY` names; `undefined` where it names none. */
export function trustedProxies(names: false | readonly string[]): BlockList | undefined {
  if (names === false) return undefined;
  const proxies = new BlockList();
  for (const network of names.flatMap((name) => NAMED[name] ?? [name])) {
    const [address = '', prefix] = network.split('/');
    const type = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) proxies.addAddress(address, type);
    else proxies.addSubnet(address, Number(prefix), type);
  }
  return proxies;
}
