import { ApiPropertyOptional } from '@nestjs/swagger';
import { ArrayUnique, IsIn, IsInt, Max, Min } from 'class-validator';
import { MayBeAbsent } from '../../http/may-be-absent.decorator.js';
import { MAX_LIMIT } from '../../resource/lists/page.js';
import { QueryArray, QueryInteger } from '../../http/query-values.js';
import { type Flavor, FLAVORS, type Size, SIZES, type Sort, SORTS } from '../cookie.values.js';
import { FLAVOR, referenceTo, SIZE, SORT } from './cookie.enums.js';

const limitFault = { message: `must be given once, as a whole number from 1 to ${MAX_LIMIT}` };
const afterFault = { message: 'must be given once, as the id of the last record seen, or 0' };
const each = (values: readonly string[]) => ({ each: true, message: `must be one of ${values.join(', ')}` });
const uniqueFault = { message: 'names the same value twice' };

export class ListCookiesQuery {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_LIMIT,
    example: 100,
    description: 'At most so many records; without it, all of them. `Link` leads to the next page.',
  })
  @MayBeAbsent()
  @QueryInteger()
  @IsInt(limitFault)
  @Min(1, limitFault)
  @Max(MAX_LIMIT, limitFault)
  limit?: number;

  @ApiPropertyOptional({
    type: 'integer',
    format: 'int64',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    example: 0,
    description: 'Only records that come after the one with this id; 0 begins at the beginning.',
  })
  @MayBeAbsent()
  @QueryInteger()
  @IsInt(afterFault)
  @Min(0, afterFault)
  after?: number;

  @ApiPropertyOptional({ ...SORT, description: 'Oldest first (`id`) or newest first (`-id`).' })
  @MayBeAbsent()
  @IsIn(SORTS, { message: `must be given once, as one of ${SORTS.join(', ')}` })
  sort?: Sort;

  @ApiPropertyOptional({
    type: 'array',
    items: referenceTo(FLAVOR),
    uniqueItems: true,
    description: 'Only these flavors; repeat it for "or".',
  })
  @MayBeAbsent()
  @QueryArray()
  @IsIn(FLAVORS, each(FLAVORS))
  @ArrayUnique(uniqueFault)
  flavor?: Flavor[];

  @ApiPropertyOptional({
    type: 'array',
    items: referenceTo(SIZE),
    uniqueItems: true,
    description: 'Only these sizes; repeat it for "or".',
  })
  @MayBeAbsent()
  @QueryArray()
  @IsIn(SIZES, each(SIZES))
  @ArrayUnique(uniqueFault)
  size?: Size[];
}
