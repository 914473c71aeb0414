import { isUtf8 } from 'node:buffer';
import { HttpException, type Type } from '@nestjs/common';
import { IntersectionType, OmitType, PartialType } from '@nestjs/swagger';
import { ApiError } from '../../http/errors/api-error.js';
import { IsOptionalNotNull, propertiesOf } from '../../http/validation/property-decorators.js';
import { validObject } from '../../http/validation/validate.js';
import type { Id, IdKind } from '../../resource/id-kinds.js';
import { IsRecordId } from '../../resource/properties.js';
import type { NewRecord, AnyResourceEntity } from '../../resource/resource-entity.js';
import type { Resource } from '../../resource/resource.js';

/** The line is not a valid record. The message names the problem and what is expected. */
export class BrokenLineError extends Error {}

/** Reads the record of a line of NDJSON. It throws a `BrokenLineError`. */
export type ReadRecord = (line: Uint8Array) => Promise<NewRecord<AnyResourceEntity>>;

/** Makes the function that reads the lines of a resource. They are validated like the body of a POST. */
export async function recordReader(resource: Resource): Promise<ReadRecord> {
  const dto = lineDto(resource.name.ids, await resource.createDto(), await resource.recordDto?.());
  return async (line) => {
    if (!isUtf8(line)) throw new BrokenLineError('it is not valid UTF-8');
    const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8');
    const value = parse(text, dto);
    try {
      return await validObject(dto, value);
    } catch (error) {
      throw new BrokenLineError(problemsIn(error));
    }
  };
}

function parse(text: string, dto: Type): unknown {
  if (text.charCodeAt(0) === 0xfeff) throw new BrokenLineError('it begins with a byte-order mark; leave that out');
  try {
    return JSON.parse(text);
  } catch (error) {
    const isEmpty = text.trim() === '';
    const problem = isEmpty ? 'it is empty; each line' : `it is not valid JSON (${(error as Error).message}); a line`;
    const expected = [...propertiesOf(dto).declared].join(', ');
    throw new BrokenLineError(`${problem} must be a JSON object with ${expected}`);
  }
}

/** The DTO class of a line: the body of a POST, an optional id, and the properties that the service sets. */
function lineDto(ids: IdKind, createDto: Type, recordDto = createDto): Type {
  class ImportedId {
    @IsOptionalNotNull()
    @IsRecordId(ids)
    id?: Id;
  }
  const ofClients = [...propertiesOf(createDto).declared, 'id'] as never[];
  const ofService = PartialType(OmitType(recordDto, ofClients), { skipNullProperties: false });
  return IntersectionType(ImportedId, createDto, ofService);
}

/** Describes the HTTP exception of a record in one line; rethrows any other error. */
export function problemsIn(error: unknown): string {
  if (!(error instanceof HttpException)) throw error;
  const details = error instanceof ApiError ? (error.details ?? []) : [];
  if (details.length === 0) return error.message;
  const problems = details.map((detail) => {
    const name = 'pointer' in detail ? detail.pointer.slice(1) : detail.parameter;
    return name === '' ? `it ${detail.message}` : `"${name}" ${detail.message}`;
  });
  return problems.join('; ');
}
