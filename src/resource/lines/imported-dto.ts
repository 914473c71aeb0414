import { HttpException, type Type } from '@nestjs/common';
import { IntersectionType, OmitType, PartialType } from '@nestjs/swagger';
import { ApiError } from '../../http/errors/api-error.js';
import { propertiesOf } from '../../http/validation/dto-properties.js';
import { IsOptionalNotNull } from '../../http/validation/is-optional-not-null.decorator.js';
import { validObject } from '../../http/validation/validate.js';
import { IsRecordId } from '../record-id.js';

class ImportedId {
  @IsOptionalNotNull()
  @IsRecordId()
  id?: number;
}

/** The rules for a line of an import: the body of a POST, with an optional id and what else the record has. */
export class ImportedDto {
  private readonly dto: Type;

  constructor(createDto: Type, recordDto: Type = createDto) {
    const ofClients = [...propertiesOf(createDto).declared, 'id'] as never[];
    const ofService = PartialType(OmitType(recordDto, ofClients), { skipNullProperties: false });
    this.dto = IntersectionType(ImportedId, createDto, ofService);
  }

  /**
   * @returns an instance of the class that POST takes
   * @throws {ApiError} 400 with a detail for each error
   */
  async validate(value: unknown): Promise<object> {
    return validObject(this.dto, value);
  }

  /** The names of the properties, for a message. */
  get properties(): string {
    return [...propertiesOf(this.dto).declared].join(', ');
  }
}

/** Turns the error of a record into one line of text for the command line; rethrows one that is not an HTTP exception. */
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
