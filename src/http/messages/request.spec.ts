import { addressKey } from './request.js';

describe('addressKey', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['2001:db8::1', '2001:db8::ffff:0:0:2'],
    ['::1', '::2'],
    ['fe80::1%eth0', 'fe80::ffff:1'],
    ['2001:db8:5::1', '2001:0DB8:0005:0:0:0:0:3'],
    ['::FFFF:7.7.7.7', '7.7.7.7'],
    ['0:0:0:0:0:ffff:0707:707', '7.7.7.7'],
  ])('counts %s and %s as one client', (one, other) => {
    expect(addressKey(one)).toBe(addressKey(other));
  });

  it.each([
    ['192.0.2.1', '192.0.2.2'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2'],
    ['2001:db8:1:2::', '2001:db8:1:3::'],
    ['2001:db8::1', '2001:db8:0:1::1'],
    ['2001:db8::1', '2001:db9::1'],
  ])('counts %s and %s as two clients', (one, other) => {
    expect(addressKey(one)).not.toBe(addressKey(other));
  });
});
