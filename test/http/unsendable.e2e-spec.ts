import { Readable } from 'node:stream';
import { Controller, Get, Injectable, Module, type OnModuleInit, Res, StreamableFile } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Public } from '../../src/auth/scopes.decorator.js';
import { type CapturedLine, captureLog, problemsIn } from '../support/captured-log.js';
import { expectError } from '../support/expect-error.js';
import { Client, sharedService } from '../support/service.js';

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

let log: CapturedLine[];

beforeEach(() => {
  log = captureLog();
});

describe('a result that cannot be sent, of a module that registers a plugin of Fastify,', () => {
  const { service } = sharedService({}, [PluginModule]);

  it.each([
    ['a BigInt', 'bigint'],
    ['toJSON() that throws', 'throwing'],
    ['a header field with a line end', 'field'],
  ])('is 500 for %s, in the shape of all errors, and is logged once', async (_name, path) => {
    const response = await Client.of(service).get(`/unsendable/${path}`);
    expectError(response, 500, 'INTERNAL_SERVER_ERROR');
    expect(response.text).not.toMatch(/BigInt|secret|header/);
    expect(response.headers.get('x-good')).toBe(path === 'field' ? 'good' : null);
    const message = expect.stringContaining(`GET /unsendable/${path} failed (request `);
    expect(problemsIn(log)).toEqual([{ level: 'error', message, rest: [expect.any(String), 'Error'] }]);
  });

  it('is cut off if it is a stream that fails behind its first bytes, and is logged once with its cause', async () => {
    await expect(Client.of(service).get('/unsendable/half')).rejects.toThrow();
    const message = expect.stringMatching(/^GET \/unsendable\/half broke off \(request /);
    const rest = [expect.stringContaining('The source has failed'), 'Error'];
    expect(problemsIn(log)).toEqual([{ level: 'error', message, rest }]);
  });
});
