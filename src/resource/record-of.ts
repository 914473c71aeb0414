import type { Type } from '@nestjs/common';
import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { RECORD_ID } from './record-id.js';

class Identified {
  @ApiProperty(RECORD_ID)
  id!: number;
}

/** The class of what clients see of a record, to be extended as `PickType(...)` is: its id, and what POST takes. */
export function RecordOf<T extends object>(createDto: Type<T>): Type<Identified & T> {
  return IntersectionType(Identified, createDto) as Type<Identified & T>;
}
