import { Readable } from 'node:stream';
import { Controller, Get, Injectable, Logger, Module, type OnModuleInit, Res, StreamableFile } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Public } from '../../src/auth/scopes.decorator.js';
import { expectError } from '../support/expect-error.js';
import { Client, type Service, startService } from '../support/service.js';

function* failingHalfWay(): Generator<string> {
  yield 'some';
  throw new Error('The source has failed');
}

@Controller('unsendable')
@Public()
class UnsendableController {
  @Get('bigint')
  bigint(): object {
    return { count: 5n };
  }

  @Get('throwing')
  throwing(): object {
    return {
      toJSON: () => {
        throw new Error('a secret');
      },
    };
  }

  @Get('half')
  half(): StreamableFile {
    return new StreamableFile(Readable.from(failingHalfWay()));
  }

  @Get('field')
  field(@Res({ passthrough: true }) reply: FastifyReply): object {
    reply.header('x-good', 'good').header('content-disposition', 'attachment; filename="a\r\nb"');
    return [];
  }
}

/** A module that registers a Fastify plugin, such as one for cookies or sessions. */
@Injectable()
class PluginOfFastify implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost<FastifyAdapter>) {}

  async onModuleInit(): Promise<void> {
    await this.host.httpAdapter.getInstance<FastifyInstance>().register((_instance, _options, done) => done());
  }
}

@Module({ controllers: [UnsendableController], providers: [PluginOfFastify] })
class PluginModule {}

const errors: unknown[][] = [];

/** Collects the errors of the log. Call it after the start of the service, which sets its own logger. */
function record(): void {
  errors.length = 0;
  const ignore = (): void => undefined;
  Logger.overrideLogger({ log: ignore, warn: ignore, error: (...line: unknown[]) => errors.push(line) });
}

afterEach(() => Logger.overrideLogger(false));

describe('a result that cannot be sent, of a module that registers a plugin of Fastify,', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({}, [PluginModule]);
  });

  afterAll(() => service.stop());

  it.each([
    ['a BigInt', 'bigint'],

    ['toJSON() that throws', 'throwing'],
    ['a header field with a line end', 'field'],
  ])('is 500 for %s, in the shape of all errors, and is logged once', async (_name, path) => {
    record();
    const response = await (await Client.of(service)).get(`/unsendable/${path}`);
    expectError(response, 500, 'INTERNAL_SERVER_ERROR');
    expect(response.text).not.toMatch(/BigInt|secret|header/);
    expect(response.headers.get('x-good')).toBe(path === 'field' ? 'good' : null);
    expect(errors).toEqual([
      [expect.stringContaining(`GET /unsendable/${path} failed (request `), expect.any(String), 'Error'],
    ]);
  });

  it('is cut off if it is a stream that fails behind its first bytes, and is logged once with its cause', async () => {
    record();
    await expect((await Client.of(service)).get('/unsendable/half')).rejects.toThrow();
    const message = expect.stringMatching(/^GET \/unsendable\/half broke off \(request /);
    expect(errors).toEqual([[message, expect.stringContaining('The source has failed'), 'Error']]);
  });
});
