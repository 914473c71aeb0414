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

/** Parameter decorator: injects the id of the path. */
export const RecordId = (): ParameterDecorator => Param('id', ParseIdPipe);

/** Validates the id of a record; with `each`, every element of an array. */
export function IsRecordId({ each = false } = {}): PropertyDecorator {
  const options = { each, message: NOT_AN_ID };
  return applyDecorators(IsInt(options), Min(1, options), Max(Number.MAX_SAFE_INTEGER, options));
}
