import { Injectable } from '@nestjs/common';
import type { Sql } from '../database/sql.js';

/** A resource in metrics, health checks and the document. */
export interface ReportedResource {
  /** Plural name, as in the URL. */
  readonly resource: string;
  /** Plural name in messages: `gift cards`. */
  readonly text: string;
  /** Capacity in records. */
  readonly capacity: number;
  /** Tells whether the last statement found the `storage` row. */
  readonly hasRow: boolean;
  /** Number of records as `source` sees it. */
  usage(source: Sql): Promise<{ readonly count: number }>;
}

/** The list of all counted resources; the module of a resource adds it. */
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
