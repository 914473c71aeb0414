import { randomBytes } from 'node:crypto';
import type { DynamicModule, Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { TestingModuleBuilder } from '@nestjs/testing';
import { JwtService } from '@nestjs/jwt';
import type { MigrationInterface } from 'typeorm';
import type { Config, Environment } from '../../src/config/config.js';
import { databaseUrlFor } from './engine.js';
import { shared } from './shared.js';

export { temporaryFolder } from './temporary-folder.js';

/** The secret for the tokens of all test services. */
export const SECRET = randomBytes(32).toString('base64url');

/** A running service, in this process or another. */
export interface Endpoint {
  readonly url: string;
}

export interface Service extends Endpoint {
  readonly app: NestFastifyApplication;
  readonly managementUrl: string;
  readonly folder: string;
  /** Closes the application and removes its database. `await using` calls it at the end of a block. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The environment of a service on a fresh database in `folder`, on free ports. */
export function environmentIn(folder: string, environment: Environment = {}): Environment {
  return {
    NODE_ENV: 'test',
    LOG_LEVEL: 'silent',
    PORT: '0',
    MANAGEMENT_PORT: '0',
    DATABASE_URL: databaseUrlFor(folder),
    ...(environment['JWT_PUBLIC_KEY'] === undefined && { JWT_SECRET: SECRET }),
    ...environment,
  };
}

/** The arguments of `startService`. */
export type StartArguments = [
  /** Variables that differ from those of a test. */
  environment?: Environment,
  /** Further modules, as a team would add them. */
  modules?: (Type | DynamicModule)[],
  /** Migrations of these modules. */
  migrations?: readonly MigrationInterface[],
  /** Replaces providers of the testing module, as `overrideProvider(Token).useValue(value)` does. */
  override?: (module: TestingModuleBuilder, config: Config) => TestingModuleBuilder,
  /** Called before the application listens, for a global prefix, versions or plugins of Fastify. */
  configure?: (app: NestFastifyApplication) => unknown,
];

/**
 * Starts the service in this process through the Nest testing module, with the same parts as `main.ts`. The first call
 * loads the application, which takes a second. Many specs need only other parts of this file.
 */
export async function startService(...args: StartArguments): Promise<Service> {
  const { startInProcess } = await import('./start-in-process.js');
  return startInProcess(...args);
}

/**
 * A service for all tests of a block, which starts before them and stops after them, and a client with both scopes.
 * @param environment a function if earlier calls of `beforeAll` make its values
 */
export function sharedService(
  environment: Environment | (() => Environment | Promise<Environment>) = {},
  ...others: StartArguments extends [unknown?, ...infer Others] ? Others : never
): { readonly service: Service; readonly client: Client } {
  const service = shared(async () =>
    startService(typeof environment === 'function' ? await environment() : environment, ...others),
  );
  return { service, client: Client.of(service) };
}

export interface TokenOptions {
  readonly subject?: string;
  readonly scope?: string;
  readonly secret?: string;
  /** Seconds from now. */
  readonly expiresIn?: number;
}

/** A token that test services accept, valid for one hour. */
export function token({
  subject = 'alice',
  scope = 'cookies:read cookies:write',
  secret = SECRET,
  expiresIn = 3600,
}: TokenOptions = {}): Promise<string> {
  return new JwtService().signAsync({ scope }, { secret, subject, expiresIn });
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body parsed as JSON. */
  readonly body: any;
}

export interface RequestOptions {
  readonly headers?: Record<string, string>;
  /** Sent as JSON; a string or bytes are sent unchanged. */
  readonly body?: unknown;
}

/** A client whose token has both scopes. */
export class Client {
  private constructor(
    private readonly service: Endpoint,
    private readonly token?: string | Promise<string>,
  ) {}

  /** A client of a service, which may start later. */
  static of(service: Endpoint, options?: TokenOptions): Client {
    return new Client(service, token(options));
  }

  /** A client with this token, or without one. */
  static bearing(service: Endpoint, token?: string): Client {
    return new Client(service, token);
  }

  async request(method: string, path: string, { headers = {}, body }: RequestOptions = {}): Promise<Answer> {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const bearer = await this.token;
    const response = await fetch(this.service.url + path, {
      method,
      headers: {
        // `@fastify/compress` of a team compresses GET and not HEAD, whose header fields tests compare.
        'accept-encoding': 'identity',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : raw ? (body as string) : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : parsed(text) };
  }

  get(path: string, headers?: Record<string, string>): Promise<Answer> {
    return this.request('GET', path, { headers });
  }

  post(body: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.request('POST', '/cookies', { body, headers });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A valid body of POST. */
export const COOKIE = { flavor: 'vanilla', size: 'small', wish: 'May your tests be green' } as const;
