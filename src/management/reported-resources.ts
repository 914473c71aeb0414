import { Injectable } from '@nestjs/common';
import type { Sql } from '../database/sql.js';

/** A resource as operators and the document see it. */
export interface ReportedResource {
  /** Its plural name, as in its URL. */
  readonly resource: string;
  /** The same for the reader: `gift cards`. */
  readonly text: string;
  /** How many records it may hold. */
  readonly capacity: number;
  /** Whether its `storage` row was there when last looked for. */
  readonly hasRow: boolean;
  /** How many records it holds, as `source` sees it. */
  usage(source: Sql): Promise<{ readonly count: number }>;
}

/** Every resource whose records are counted; the module of each adds its own. */
@Injectable()
export class ReportedResources {
  private readonly byName = new Map<string, ReportedResource>();

  get all(): ReportedResource[] {
    return [...this.byName.values()];
  }

  add(resource: ReportedResource): void {
    this.byName.set(resource.resource, resource);
  }
}
