import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsCodePointLength, IsOptionalNotNull } from '../../http/validation/property-decorators.js';
import { QueryInteger } from '../../http/validation/query-values.js';
import { INTEGER_IDS } from '../id-kinds.js';
import { LimitParameter } from '../lists/list-query.js';
import { IsWholeNumber } from '../properties.js';

/** Maximum number of lines of a page, each of which has a record twice. */
const MOST_LINES = 200;

export class AuditQuery {
  @ApiProperty({ minLength: 1, maxLength: 255, description: 'The plural name of the resource.', example: 'orders' })
  @IsCodePointLength(1, 255, { message: 'must be given once, as the plural name of an audited resource' })
  resource!: string;

  @ApiPropertyOptional({ minLength: 1, maxLength: 255, description: 'Only lines of this record.', example: '1' })
  @IsOptionalNotNull()
  @IsCodePointLength(1, 255, { message: 'must be given once, as the id of a record' })
  record?: string;

  @ApiPropertyOptional({ ...INTEGER_IDS.schema, minimum: 0, example: 17, description: 'Only lines after this one.' })
  @IsOptionalNotNull()
  @QueryInteger()
  @IsWholeNumber(0, Number.MAX_SAFE_INTEGER, 'must be given once, as the sequence of a line, or 0')
  after?: number;

  @LimitParameter(MOST_LINES, { default: 100 })
  limit?: number;
}

const text = (example: string, description: string) =>
  ({ type: 'string', nullable: true, example, description }) as const;
const record = (example: object, description: string) =>
  ({ type: 'object', nullable: true, additionalProperties: true, example, description }) as const;

export class AuditLineDto {
  @ApiProperty({ example: 'orders' })
  resource!: string;

  @ApiProperty({ type: 'integer', minimum: 1, example: 17, description: 'From 1 up for each resource, without gaps.' })
  sequence!: number;

  @ApiProperty({ format: 'date-time', example: '2026-01-31T12:00:00.000Z' })
  at!: string;

  @ApiProperty({
    enum: ['create', 'update', 'delete', 'prune'],
    description: '`prune`: the lines up to the sequence `through` were too old.',
  })
  operation!: string;

  @ApiProperty({ example: '1', description: 'The id of the record; empty for `prune`.' })
  record!: string;

  @ApiProperty(
    text('https://login.example.com/', 'The issuer of the token; null if it has none, or without a request.'),
  )
  issuer!: string | null;

  @ApiProperty(text('alice', 'The subject of the token; null without a token.'))
  subject!: string | null;

  @ApiProperty(text('192.0.2.1', 'The address of the client; null without a request.'))
  address!: string | null;

  @ApiProperty(text('7f1c0f0e-0b52-4b8e-9d8e-2f6a1c9c9b57', 'The request id; null without a request.'))
  requestId!: string | null;

  @ApiProperty({ example: 'orders', description: 'The user of the database.' })
  databaseUser!: string;

  @ApiProperty(record({ id: 1, quantity: 10 }, 'The record before; null for `create`.'))
  before!: object | null;

  @ApiProperty(record({ id: 1, quantity: 12 }, 'The record after; null for `delete`.'))
  after!: object | null;

  @ApiProperty(text('', 'The hash of the line before; null until the line is sealed.'))
  previous!: string | null;

  @ApiProperty(text('9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', 'SHA-256; null until then.'))
  hash!: string | null;
}
