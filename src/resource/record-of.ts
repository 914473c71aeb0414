import type { Type } from '@nestjs/common';
import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { RECORD_ID } from './record-id.js';

class Identified {
  @ApiProperty(RECORD_ID)
  id!: number;
}

/** The base class of a record DTO, used like `PickType(...)`: the id and the properties of the POST body. */
export function RecordOf<T extends object>(createDto: Type<T>): Type<Identified & T> {
  return IntersectionType(Identified, createDto) as Type<Identified & T>;
}
