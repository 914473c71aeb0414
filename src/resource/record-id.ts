import { applyDecorators, Param } from '@nestjs/common';
import { IsInt, Max, Min } from 'class-validator';
import { NOT_AN_ID, ParseIdPipe } from '../http/validation/parse-id.pipe.js';

/** The id of a record, in the document. */
export const RECORD_ID = {
  type: 'integer',
  format: 'int64',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  example: 1,
} as const;

/** The handler's argument: the id in the path. */
export const RecordId = (): ParameterDecorator => Param('id', ParseIdPipe);

/** The value is the id of a record; with `each`, every element of an array is. */
export function IsRecordId({ each = false } = {}): PropertyDecorator {
  const options = { each, message: NOT_AN_ID };
  return applyDecorators(IsInt(options), Min(1, options), Max(Number.MAX_SAFE_INTEGER, options));
}
