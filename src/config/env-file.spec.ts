import { mkdirSync, writeFileSync } from 'node:fs';
import { jest } from '@jest/globals';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { COOKIES } from '../cookies/cookie.resource.js';
import { ConfigError, loadConfigFromProcess } from './config.js';

describe('The file .env', () => {
  const start = process.cwd();

  beforeEach(() => {
    process.chdir(temporaryFolder());
    jest.replaceProperty(process, 'env', {});
  });

  afterEach(() => {
    jest.restoreAllMocks();
    process.chdir(start);
  });

  it('supplies the settings that the environment lacks', () => {
    writeFileSync('.env', 'PORT=4000\nCOOKIES_CAPACITY=7\n');
    process.env['PORT'] = '5000';
    const config = loadConfigFromProcess([COOKIES.capacity]);
    expect([config.port, config.get(COOKIES.capacity)]).toEqual([5000, 7]);
  });

  it('may begin with a byte-order mark, and have Windows line ends', () => {
    writeFileSync('.env', '\uFEFFPORT=4000\r\nCOOKIES_CAPACITY=7\r\n');
    const config = loadConfigFromProcess([COOKIES.capacity]);
    expect([config.port, config.get(COOKIES.capacity)]).toEqual([4000, 7]);
  });

  it('is optional', () => {
    expect(loadConfigFromProcess([COOKIES.capacity]).port).toBe(3000);
  });

  it('stops the start when it cannot be read', () => {
    mkdirSync('.env');
    expect(() => loadConfigFromProcess([COOKIES.capacity])).toThrow(ConfigError);
    expect(() => loadConfigFromProcess([COOKIES.capacity])).toThrow(/\.env cannot be read: EISDIR/);
  });

  it('stops the start when it is in UTF-16', () => {
    writeFileSync('.env', '\uFEFFPORT=4000\r\n', 'utf16le');
    expect(() => loadConfigFromProcess([COOKIES.capacity])).toThrow('.env cannot be read: it must be in UTF-8');
  });

  it('is not read in production', () => {
    writeFileSync('.env', 'PORT=4000\n');
    process.env['NODE_ENV'] = 'production';
    process.env['JWT_SECRET'] = 'q8Zr0Yt3vX5mN7bK2pL9sD4fG6hJ1wEcUaQiOoRk';
    expect(loadConfigFromProcess([COOKIES.capacity]).port).toBe(3000);
  });
});
