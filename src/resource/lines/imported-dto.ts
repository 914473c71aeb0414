import type { Type } from '@nestjs/common';
import { IntersectionType } from '@nestjs/swagger';
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

/** A record as it comes from elsewhere: what POST takes, and the id that it had there. */
export class ImportedDto {
  private readonly dto: Type;

  constructor(createDto: Type) {
    this.dto = IntersectionType(ImportedId, createDto);
  }

  /**
   * @returns an instance of the class that POST takes
   * @throws {ApiError} 400 with a detail for each error
   */
  async validate(value: unknown): Promise<object> {
    return validObject(this.dto, value);
  }

  /** A record with the examples that the document has of its properties. */
  get example(): object {
    const examples = [...propertiesOf(this.dto).declared].map((name) => [name, this.exampleOf(name)]);
    return { ...(Object.fromEntries(examples) as object), id: 1 };
  }

  private exampleOf(name: string): unknown {
    const documented = Reflect.getMetadata(API_PROPERTY, this.dto.prototype as object, name) as ApiProperty | undefined;
    return documented?.example ?? documented?.enumSchema?.example ?? documented?.enum?.[0] ?? '...';
  }
}

/** What `@ApiProperty` keeps of a property; the package has no public way to ask. */
interface ApiProperty {
  readonly example?: unknown;
  readonly enum?: readonly unknown[];
  readonly enumSchema?: { readonly example?: unknown };
}

const API_PROPERTY = 'swagger/apiModelProperties';

/** What is wrong with a value, for a reader who has no HTTP response before him; other errors are thrown again. */
export function problemsOf(error: unknown): string {
  if (!(error instanceof ApiError)) throw error;
  const problems = (error.details ?? []).map((detail) => {
    const name = 'pointer' in detail ? detail.pointer.slice(1) : detail.parameter;
    return name === '' ? `it ${detail.message}` : `"${name}" ${detail.message}`;
  });
  return problems.join('; ');
}
