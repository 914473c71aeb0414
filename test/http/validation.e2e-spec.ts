import {
  Body,
  Controller,
  DefaultValuePipe,
  Get,
  Module,
  Param,
  ParseArrayPipe,
  Post,
  Query,
  RawBody,
  type Type,
  UsePipes,
  ValidationPipe,
} from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { Transform, Type as TypeOf } from 'class-transformer';
import {
  IsEmail,
  IsInt,
  IsNotEmpty,
  IsObject,
  IsOptional,
  Matches,
  Max,
  Min,
  ValidateBy,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { Public, Scopes } from '../../src/auth/scopes.decorator.js';
import { IsCodePointLength, IsOptionalNotNull } from '../../src/http/validation/property-decorators.js';
import { AcceptsBody } from '../../src/http/body/accepts-body.decorator.js';
import { arrayOf } from '../../src/http/validation/validation.pipe.js';
import { expectError } from '../support/expect-error.js';
import { Client, sharedService, startService } from '../support/service.js';
import { taking } from './fixtures/taking.js';

class PathParameters {
  @Matches(/^[a-z]{3}$/)
  shelf!: string;
}

class TasteDto {
  @IsCodePointLength(1, 5)
  name!: string;
}

class BoxDto {
  @IsOptional()
  @ValidateNested()
  @TypeOf(() => TasteDto)
  taste?: TasteDto;

  @IsOptional()
  @ValidateNested({ each: true })
  @TypeOf(() => TasteDto)
  others?: TasteDto[];

  @IsOptional()
  @ValidateNested()
  @TypeOf(() => BoxDto)
  inner?: BoxDto;
}

let looks = 0;

/** An asynchronous check, like a query to a database. */
const isFree = async (value: unknown): Promise<boolean> => {
  looks += 1;
  await new Promise(setImmediate);
  if (value === 'unknown') throw new Error('The database is away');
  return value !== 'taken';
};

class LabelDto {
  @ValidateBy({ name: 'free', async: true, validator: { validate: isFree, defaultMessage: () => 'is taken' } })
  label!: string;
}

class UnmarkedLabelDto {
  @ValidateBy({ name: 'free', validator: { validate: isFree, defaultMessage: () => 'is taken' } })
  label!: string;
}

class PriceDto {
  @IsInt()
  @Min(0, { message: 'price lists have no price below 0' })
  @Max(100)
  price!: number;
}

class PricedNameDto extends PriceDto {
  @IsCodePointLength(1, 5)
  name!: string;
}

class AddressDto {
  @IsEmail()
  email!: string;
}

class TrimmedDto {
  @Transform(({ value }: { value: string }) => value.trim())
  @IsCodePointLength(1, 5)
  name!: string;
}

class NamesDto {
  @IsNotEmpty({ each: true })
  names!: string[];

  /** A property that accepts any object. */
  @IsOptional()
  @IsObject()
  more?: object;
}

class LabelledDto {
  @ValidateNested()
  @TypeOf(() => LabelDto)
  of!: LabelDto;
}

let isColourRequired = false;

class FiltersDto {
  @IsOptional()
  @IsInt()
  size?: number;

  @ValidateIf(() => isColourRequired)
  @Matches(/^[a-z]+$/)
  colour?: string;
}

let defaultSize = 11;

class PageQuery {
  @IsOptionalNotNull()
  @Max(10)
  size?: number = defaultSize;
}

@Controller('things')
@Scopes('cookies:write')
class ThingsController {
  @Get('shelves/:shelf')
  shelf(@Param() parameters: PathParameters): object {
    return { isDto: parameters instanceof PathParameters, ...parameters };
  }

  @Post('boxes')
  @AcceptsBody({ limit: 2 ** 20 })
  box(@Body() box: BoxDto): object {
    const isDto = [box.taste, ...(box.others ?? [])].every((each) => each === undefined || each instanceof TasteDto);
    return { isDto, box };
  }

  @Post('tastes')
  tastes(@Body(arrayOf(TasteDto)) tastes: TasteDto[]): object {
    return { isDto: tastes.every((each) => each instanceof TasteDto), tastes };
  }

  @Post('parsed-tastes')
  parsed(@Body(new ParseArrayPipe({ items: TasteDto })) tastes: TasteDto[]): object {
    return { isDto: tastes.every((each) => each instanceof TasteDto), tastes };
  }

  @Post('own-pipe')
  own(@Body(new DefaultValuePipe('none')) value: unknown): object {
    return { value };
  }

  @Get('page')
  page(@Query() query: PageQuery): object {
    return { isDto: query instanceof PageQuery, ...query };
  }

  @Post('page')
  addToPage(@Body() taste: TasteDto, @Query() query: PageQuery): object {
    return { taste, query };
  }

  @Get('filtered')
  filtered(@Query() query: FiltersDto): object {
    return { isDto: query instanceof FiltersDto };
  }

  @Get('search')
  search(@Query() query: LabelDto): object {
    return query;
  }
}

const RETURNED = {
  labels: LabelDto,
  'unmarked-labels': UnmarkedLabelDto,
  prices: PriceDto,
  'priced-names': PricedNameDto,
  addresses: AddressDto,
  trimmed: TrimmedDto,
  names: NamesDto,
  labelled: LabelledDto,
};
const RETURNING = Object.entries(RETURNED).map(([path, type]) => taking(type, { path: `things/${path}` }));

@Module({ controllers: [ThingsController, ...RETURNING] })
class ThingsModule {}

describe('the validation of a feature', () => {
  const { client } = sharedService({}, [ThingsModule]);

  const TASTE = { name: 'nut' };
  const nested = (times: number): object => JSON.parse('{"inner":'.repeat(times) + '{}' + '}'.repeat(times)) as object;
  const LONG = { name: 'too long' };
  const POST = 'POST';

  it.each<[what: string, method: string, path: string, body: unknown, response: object]>([
    ['a path as a DTO', 'GET', 'shelves/abc', undefined, { isDto: true, shelf: 'abc' }],
    ['a nested DTO', POST, 'boxes', { taste: TASTE }, { isDto: true, box: { taste: TASTE } }],
    ['an array of nested DTOs', POST, 'boxes', { others: [TASTE] }, { isDto: true, box: { others: [TASTE] } }],
    ['a DTO 30 times within itself', POST, 'boxes', nested(30), { isDto: true, box: nested(30) }],
    ['an array of DTOs', POST, 'tastes', [TASTE, TASTE], { isDto: true, tastes: [TASTE, TASTE] }],
    ['an array with a pipe of Nest', POST, 'parsed-tastes', [TASTE], { isDto: true, tastes: [TASTE] }],
    ['what a decorator transforms', POST, 'trimmed', { name: '  nut  ' }, { name: 'nut' }],
    ['what an asynchronous validator accepts', POST, 'labels', { label: 'new' }, { label: 'new' }],
  ])('%s is accepted', async (_what, method, path, body, expected) => {
    const response = await client.request(method, `/things/${path}`, { body });
    expect(response).toMatchObject({ status: method === 'GET' ? 200 : 201, body: expected });
  });

  it('GET without parameters returns 400 while the condition of one of them holds, and 200 while none does', async () => {
    isColourRequired = true;
    const missing = await client.get('/things/filtered');
    isColourRequired = false;
    expectError(missing, 400, 'INVALID_REQUEST');
    expect(missing.body.details).toEqual([{ parameter: 'colour', message: expect.any(String) }]);
    expect((await client.get('/things/filtered')).body).toEqual({ isDto: true });
  });

  it('GET without parameters returns 400 while the default of an optional parameter is invalid', async () => {
    expectError(await client.get('/things/page'), 400, 'INVALID_REQUEST');
    defaultSize = 10;
    expect((await client.get('/things/page')).body).toEqual({ isDto: true, size: 10 });
  });

  it.each<[what: string, method: string, path: string, body: unknown, place: string]>([
    ['a path that its DTO rejects', 'GET', 'shelves/ab1', undefined, 'shelf'],
    ['a value in a nested DTO', POST, 'boxes', { taste: LONG }, '/taste/name'],
    ['an unknown property of a nested DTO', POST, 'boxes', { taste: { ...TASTE, x: 1 } }, '/taste/x'],
    ['a string instead of a nested DTO', POST, 'boxes', { taste: 'nut' }, '/taste'],
    ['an object instead of an array', POST, 'boxes', { others: TASTE }, '/others'],
    ['a value in an array', POST, 'boxes', { others: [TASTE, LONG] }, '/others/1/name'],
    ['an item of a body', POST, 'tastes', [TASTE, LONG], '/1/name'],
    ['an object instead of an array as body', POST, 'tastes', TASTE, ''],
    ['what a validator throws at', POST, 'addresses', { email: '\ud800@b.example' }, '/email'],
    ['what a transformation throws at', POST, 'trimmed', { name: 5 }, '/name'],
    ['"__proto__" far inside', POST, 'names', { names: ['a'], more: { a: JSON.parse('{"__proto__":1}') } }, '/more'],
    ['what is nested very deep', POST, 'boxes', `${'{"inner":'.repeat(50_000)}1${'}'.repeat(50_000)}`, '/inner'],
    ['one item more than 1000', POST, 'tastes', Array(1001).fill({ name: 'n' }), ''],
    ['what an asynchronous validator rejects', POST, 'labels', { label: 'taken' }, '/label'],
    ['the same without the mark', POST, 'unmarked-labels', { label: 'taken' }, '/label'],
    ['the same in a nested DTO', POST, 'labelled', { of: { label: 'taken' } }, '/of/label'],
    ['the same in a query', 'GET', 'search?label=taken', undefined, 'label'],
  ])('%s is rejected with 400 and its pointer', async (_what, method, path, body, place) => {
    const response = await client.request(method, `/things/${path}`, { body });
    expectError(response, 400, 'INVALID_REQUEST');
    const name = method === 'GET' ? 'parameter' : 'pointer';
    expect(response.body.details).toEqual([{ [name]: place, message: expect.stringMatching(/\S/) }]);
  });

  it('a wrong query is 400 before a media type that is not accepted', async () => {
    const headers = { 'content-type': 'text/plain' };
    const response = await client.request(POST, '/things/page?size=99', { body: 'nut', headers });
    expectError(response, 400, 'INVALID_REQUEST');
    expect(response.body.details).toEqual([{ parameter: 'size', message: expect.any(String) }]);
  });

  it('a missing body is 400 before the own pipe of an argument of any type', async () => {
    expectError(await client.request(POST, '/things/own-pipe'), 400, 'MALFORMED_JSON');
    const given = await client.request(POST, '/things/own-pipe', { body: { name: 'nut' } });
    expect([given.status, given.body]).toEqual([201, { value: { name: 'nut' } }]);
  });

  it('an array of 1000 items is accepted', async () => {
    const { status, body } = await client.request(POST, '/things/tastes', { body: Array(1000).fill({ name: 'n' }) });
    expect([status, body.isDto, body.tastes.length]).toEqual([201, true, 1000]);
  });

  it('the message names the first of several wrong properties, in the order of the class and its parent, and their number', async () => {
    const { body } = await client.request(POST, '/things/priced-names', { body: { name: '', price: 'free' } });
    expect(body.message).toBe('/price: must be an integer number (and 1 more)');
    expect(body.details.map(({ pointer }: { pointer: string }) => pointer)).toEqual(['/price', '/name']);
    const whole = await client.request(POST, '/things/tastes', { body: {} });
    expect(whole.body.message).toBe('body: must be an array of at most 1000 items');
  });

  it.each<[what: string, path: string, body: object, pointerOf: (index: number) => string]>([
    [
      'unknown properties',
      'names',
      Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`x${index}`, 1])),
      (index) => `/x${index}`,
    ],
    ['wrong nested items', 'boxes', { others: Array(80).fill(LONG) }, (index) => `/others/${index}/name`],
  ])(
    'the details name the first 50 of 80 %s, and the message has their number',
    async (_what, path, body, pointerOf) => {
      const response = await client.request(POST, `/things/${path}`, { body });
      expectError(response, 400, 'INVALID_REQUEST');
      expect(response.body.message).toMatch(/ \(and 79 more\)$/);
      const pointers = response.body.details.map(({ pointer }: { pointer: string }) => pointer);
      expect(pointers).toEqual(Array.from({ length: 50 }, (_, index) => pointerOf(index)));
    },
  );

  it('an asynchronous validator that fails makes only its request 500, and each validator is called once', async () => {
    for (const path of ['labels', 'unmarked-labels']) {
      const failed = await client.request(POST, `/things/${path}`, { body: { label: 'unknown' } });
      expectError(failed, 500, 'INTERNAL_SERVER_ERROR');
      looks = 0;
      expect((await client.request(POST, `/things/${path}`, { body: { label: 'new' } })).status).toBe(201);
      expect(looks).toBe(1);
    }
  });

  it.each<[what: string, body: object, message: string]>([
    ['that is missing', {}, 'must be an integer number'],
    ['beyond the range', { price: 101 }, 'must not be greater than 100'],
    ['below the range, with the whole message of its decorator', { price: -1 }, 'price lists have no price below 0'],
  ])('a property %s is reported by the first decorator that rejects it', async (_what, body, message) => {
    const response = await client.request(POST, '/things/prices', { body });
    expectError(response, 400, 'INVALID_REQUEST');
    expect(response.body.details).toEqual([{ pointer: '/price', message }]);
  });
});

class Plain {
  name!: string;
}

class BareNested {
  @ValidateNested()
  @TypeOf(() => Plain)
  taste!: Plain;
}

class HalfNested {
  @ValidateNested()
  taste!: object;
}

class NotNested {
  @IsObject()
  taste!: TasteDto;
}

class Outer {
  @ValidateNested()
  @TypeOf(() => NotNested)
  inner!: NotNested;
}

class Flags {
  @IsInt()
  @Transform(({ value }) => (value ? Number(value) : 1))
  page!: number;

  @IsOptional()
  @Transform(({ value }) => value === 'true')
  isOpen?: boolean;
}

/** A DTO class with one property. */
function named(property: string): Type {
  class Named {}
  IsInt()(Named.prototype, property);
  return Named;
}

describe('a start with a handler that could not be validated', () => {
  const TRANSFORM = new ValidationPipe({ transform: true });
  const piped = (controller: Type): Type => {
    UsePipes(ValidationPipe)(controller);
    return controller;
  };
  const TWICE = /Flags\.isOpen is converted twice; remove the ValidationPipe/;
  const NAMED = ['toString', '__proto__'].map((name): [string, Type, RegExp] => [
    `a property with the name ${name}`,
    taking(named(name)),
    new RegExp(`Named\\.${name} has a name that every object has: choose another`),
  ]);

  it.each<[what: string, controller: Type, message: RegExp]>([
    ['a body that is an interface', taking(Object), /@Body\(\) is an interface/],
    ['a class imported as a type', taking(Function), /@Body\(\) is an interface or .* import it as a value/],
    ['an array without its class', taking(Array), /@Body\(\) is an array; use @Body\(arrayOf\(ItemDto\)\)/],
    ['one property', taking(String, { argument: Body('name') }), /@Body\('name'\) is not supported; declare a DTO/],
    ['the raw body', taking(Buffer, { argument: RawBody() }), /@RawBody\(\) is always undefined; use @Body\(\)/],
    ['a class for a parameter', taking(TasteDto, { argument: Query('a') }), /@Query\('a'\) cannot be a TasteDto/],
    ['a parameter as a number', taking(Number, { argument: Param('a') }), /@Param\('a'\) is a text, not a Number; use/],
    ['a flag', taking(Boolean, { argument: Query('a') }), /@Query\('a'\) is a text, not a Boolean; use a pipe/],
    ['a class without decorators', taking(Plain), /Plain has no validation decorators/],
    ['@ValidateNested() of a class without validators', taking(BareNested), /Plain has no validation decorators/],
    ['@ValidateNested() without @Type()', taking(HalfNested), /HalfNested\.taste .*needs @Type/],
    ['a DTO that is not validated', taking(NotNested), /NotNested\.taste is a TasteDto that nothing validates/],
    ['one within another', taking(Outer), /NotNested\.taste is a TasteDto that nothing validates/],
    ['a class that its pipe converts again', taking(Flags, { argument: Query(TRANSFORM) }), TWICE],
    ['a class that a pipe of the controller converts again', piped(taking(Flags)), TWICE],
    ...NAMED,
  ])('fails for %s, with the name of the handler', async (_what, controller, message) => {
    @Module({ controllers: [controller] })
    class OddModule {}
    const started = startService({}, [OddModule]).then((service) => service.stop());
    await expect(started).rejects.toThrow(new RegExp(`Takes\\.take: ${message.source}`));
  });

  it("succeeds beside a team's own global pipe, which converts a parameter to the declared number", async () => {
    @Public()
    @Controller('converted')
    class ConvertedController {
      @Get(':id')
      read(@Param('id') id: number) {
        return { id };
      }
    }
    const providers = [{ provide: APP_PIPE, useValue: TRANSFORM }];
    @Module({ controllers: [ConvertedController], providers })
    class ConvertedModule {}
    await using service = await startService({}, [ConvertedModule]);
    expect((await Client.of(service).get('/converted/7')).body).toEqual({ id: 7 });

    @Module({ controllers: [taking(Flags)], providers })
    class FlagsModule {}
    await expect(startService({}, [FlagsModule])).rejects.toThrow(TWICE);
  });
});
