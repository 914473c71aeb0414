import { applyDecorators, Param } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsInt, Max, Min } from 'class-validator';
import { ParseIdPipe } from '../http/validation/parse-id.pipe.js';

/** The id of a record, in the document. */
export const RECORD_ID = {
  type: 'integer',
  format: 'int64',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  example: 1,
} as const;

const error = { message: `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}` };

/** The handler's argument: the id in the path. */
export const RecordId = (): ParameterDecorator => Param('id', ParseIdPipe);

/** A property that is the id of a record, such as a reference. */
export const IdProperty = (): PropertyDecorator =>
  applyDecorators(ApiProperty(RECORD_ID), IsInt(error), Min(1, error), Max(Number.MAX_SAFE_INTEGER, error));
