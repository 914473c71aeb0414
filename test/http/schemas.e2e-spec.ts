import { Readable } from 'node:stream';
import {
  BadRequestException,
  Body,
  Controller,
  Get,
  Injectable,
  Module,
  Param,
  type PipeTransform,
  Post,
  Query,
} from '@nestjs/common';
import { z } from 'zod';
import { Public } from '../../src/auth/scopes.decorator.js';
import { expectError } from '../support/expect-error.js';
import { sharedService, startService } from '../support/service.js';
import { taking } from './fixtures/taking.js';

const MEAL = z.strictObject({
  name: z.string().min(2),
  parts: z.array(z.strictObject({ grams: z.int() })).default([]),
  inner: z.unknown().optional(),
});
const LIMIT = z.coerce.number().max(9);

@Controller('meals')
@Public()
class MealsController {
  @Post()
  create(@Body({ schema: MEAL }) meal: z.infer<typeof MEAL>): object {
    return meal;
  }

  @Post('names')
  names(@Body({ schema: z.array(z.string()) }) names: string[]): object {
    return names;
  }

  @Get()
  list(@Query({ schema: z.strictObject({ limit: LIMIT }) }) query: { limit: number }): object {
    return query;
  }

  @Get('best')
  best(@Query('limit', { schema: LIMIT }) limit: number): object {
    return { limit };
  }

  @Post('days')
  days(@Body({ schema: z.object({ from: z.coerce.date() }) }) { from }: { from: Date }): string[] {
    return [from.toISOString()];
  }

  @Get('days')
  day(@Query({ schema: z.strictObject({ from: z.coerce.date() }) }) { from }: { from: Date }): string[] {
    return [from.toISOString()];
  }

  @Get(':id')
  get(@Param('id', { schema: z.uuid() }) id: string): object {
    return { id };
  }
}

/** A class without decorators, whose values another library validates. */
class DishDto {
  name!: string;
}

@Injectable()
class DishPipe implements PipeTransform {
  transform(value: DishDto): DishDto {
    if (value.name !== 'pie') throw new BadRequestException('The name must be "pie"');
    return Object.assign(new DishDto(), value);
  }
}

@Controller('dishes')
@Public()
class DishesController {
  @Post()
  create(@Body(DishPipe) dish: DishDto): object {
    return { isDto: dish instanceof DishDto, ...dish };
  }

  @Get()
  list(@Query(DishPipe) dish: DishDto): object {
    return { isDto: dish instanceof DishDto, ...dish };
  }
}

@Module({ controllers: [MealsController, DishesController] })
class MealsModule {}

const ID = '0190a6f0-0000-7000-8000-000000000001';

const { client } = sharedService({}, [MealsModule]);

describe('a schema of zod', () => {
  const body = (pointer: string): object => ({ pointer });

  it.each<[method: string, path: string, body: unknown, value: unknown]>([
    ['POST', '', { name: 'pie', parts: [{ grams: 5 }] }, { name: 'pie', parts: [{ grams: 5 }] }],
    ['POST', '/names', ['a', 'b'], ['a', 'b']],
    ['POST', '/days', { from: '2026-11-01' }, ['2026-11-01T00:00:00.000Z']],
    ['GET', '/days?from=2026-11-01', undefined, ['2026-11-01T00:00:00.000Z']],
    ['GET', '?limit=3', undefined, { limit: 3 }],
    ['GET', '/best?limit=3', undefined, { limit: 3 }],
    ['GET', `/${ID}`, undefined, { id: ID }],
  ])('accepts %s /meals%s with %j, and the handler gets its result', async (method, path, sent, value) => {
    expect((await client.request(method, `/meals${path}`, { body: sent })).body).toEqual(value);
  });

  it.each<[what: string, method: string, path: string, body: unknown, places: object[]]>([
    ['two values', 'POST', '', { name: 'p', parts: [{ grams: 'x' }] }, [body('/name'), body('/parts/0/grams')]],
    ['"__proto__" inside', 'POST', '', '{"name":"pie","inner":{"__proto__":{}}}', [body('')]],
    ['deep nesting', 'POST', '', `{"name":"pie","inner":${'['.repeat(1500)}${']'.repeat(1500)}}`, [body('')]],
    ['80 values', 'POST', '/names', Array(80).fill(1), Array.from({ length: 50 }, (_, index) => body(`/${index}`))],
    ['an unknown property', 'POST', '', { name: 'pie', parts: [{ grams: 1, nope: 1 }] }, [body('/parts/0/nope')]],
    ['an unknown parameter', 'GET', '?limit=3&nope=1', undefined, [{ parameter: 'nope' }]],
    ['a query', 'GET', '?limit=10', undefined, [{ parameter: 'limit' }]],
    ['a parameter of the query', 'GET', '/best?limit=10', undefined, [{ parameter: 'limit' }]],
    ['a parameter of the path', 'GET', '/1', undefined, [{ parameter: 'id' }]],
  ])('rejects %s with 400, and each detail has its pointer', async (_what, method, path, sent, places) => {
    const response = await client.request(method, `/meals${path}`, { body: sent });
    expectError(response, 400, 'INVALID_REQUEST');
    expect(response.body.details).toEqual(places.map((place) => ({ ...place, message: expect.any(String) })));
  });

  it('is in the document', async () => {
    const { paths } = (await client.get('/openapi.json')).body;
    const { schema } = paths['/meals'].post.requestBody.content['application/json'];
    expect(schema).toMatchObject({ type: 'object', properties: { name: { type: 'string', minLength: 2 } } });
  });

  it.each([Buffer, Readable])('ends the start where the body is no JSON: %p', async (type) => {
    const accepts = { type: 'image/png', limit: 1000 };
    @Module({ controllers: [taking(type, { argument: Body({ schema: z.any() }), accepts })] })
    class OddModule {}
    await expect(startService({}, [OddModule])).rejects.toThrow('Takes.take: a schema is for JSON');
  });
});

it.each([
  ['POST', '', { name: 'pie' }],
  ['GET', '?name=pie', undefined],
])('%s with a DTO class without decorators is validated by the pipe of the argument', async (method, query, body) => {
  const right = await client.request(method, `/dishes${query}`, { body });
  expect(right.body).toEqual({ isDto: true, name: 'pie' });
  const wrong = await client.request(method, `/dishes${query.replace('pie', 'tart')}`, {
    body: body && { name: 'tart' },
  });
  expectError(wrong, 400, 'BAD_REQUEST');
  expect(wrong.body.message).toBe('The name must be "pie"');
});
