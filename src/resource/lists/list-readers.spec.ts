import { jest } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../config/config.js';
import { ListReaders } from './list-readers.js';

let now: number;
let cut: string[];

beforeEach(() => {
  now = 0;
  cut = [];
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});

afterEach(() => jest.restoreAllMocks());

function readersOf(most: number): ListReaders {
  return new ListReaders({ listStreams: most } as Config);
}

function admit(readers: ListReaders, subject: string, ip = subject, issuer?: string) {
  const request = { user: { subject, issuer }, ip, socket: { remoteAddress: ip } } as unknown as FastifyRequest;
  return readers.admit(request, () => cut.push(subject));
}

describe('the readers of long lists', () => {
  it('leave a quarter of the slots to other subjects', () => {
    const readers = readersOf(8);
    for (let place = 0; place < 6; place++) admit(readers, 'alice', `10.0.0.${place}`);
    expect(() => admit(readers, 'alice', '10.0.0.9')).toThrow(/6 long lists are read with this subject already/);
    admit(readers, 'alice', '10.0.1.1', 'https://another.example');
    admit(readers, 'bob');
    expect(() => admit(readers, 'dave')).toThrow(/8 long lists are read already/);
  });

  it('lose their slots when they pause, the longest pause first', () => {
    const readers = readersOf(2);
    admit(readers, 'slow');
    const steady = admit(readers, 'steady');
    now = 1500;
    steady.readAt = now;
    admit(readers, 'newcomer');
    expect(cut).toEqual(['slow']);
    expect(() => admit(readers, 'too many')).toThrow(/2 long lists are read already/);
  });

  it('lose their slots without a pause, the slowest first, if their address has more readers than that of the newcomer', () => {
    const readers = readersOf(8);
    const trickling = Array.from({ length: 4 }, (_, index) => [
      admit(readers, `a${index}`, '10.0.0.1'),
      admit(readers, `b${index}`, '10.0.0.2'),
    ]).flat();
    now = 500;
    const a2 = trickling[4];
    for (const reader of trickling) if (reader !== a2) reader.readAt = now;
    expect(() => admit(readers, 'a4', '10.0.0.1')).toThrow(/8 long lists are read already/);
    admit(readers, 'honest', '10.0.0.3');
    expect(cut).toEqual(['a2']);
    admit(readers, 'honest too', '10.0.0.3');
    expect(cut).toEqual(['a2', 'b0']);
    // Every address has its maximum of readers: two, three and three.
    expect(() => admit(readers, 'honest, and one too many', '10.0.0.3')).toThrow(/8 long lists are read already/);
  });

  it('lose their slots when they pause, unless the address of the newcomer has more readers', () => {
    const readers = readersOf(8);
    admit(readers, 'honest', '10.0.0.3');
    for (let index = 0; index < 4; index++) admit(readers, `a${index}`, '10.0.0.1');
    for (let index = 0; index < 3; index++) admit(readers, `b${index}`, '10.0.0.2');
    now = 1500;
    for (let index = 3; index < 7; index++) admit(readers, `b${index}`, '10.0.0.2');
    expect(cut).toEqual(['a0', 'b0', 'b1', 'b2']);
    expect(() => admit(readers, 'b7', '10.0.0.2')).toThrow(/8 long lists are read already/);
  });

  it('count as one address if they come from one IPv6 /64', () => {
    const readers = readersOf(8);
    for (let place = 0; place < 6; place++) admit(readers, `subject ${place}`, `10.0.0.${place}`);
    for (let place = 0; place < 2; place++) admit(readers, `crowd ${place}`, `2001:db8:0:1::${place}`);
    admit(readers, 'another', '2001:db8:0:2::1');
    expect(cut).toEqual(['crowd 0']);
  });
});
