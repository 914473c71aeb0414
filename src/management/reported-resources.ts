import { Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { committed, type Sql } from '../database/engine.js';
import { withinTimeout } from './database-timeout.js';

/** A resource, for metrics, health and the OpenAPI document. */
export interface ReportedResource {
  /** The plural name, as in the URL. */
  readonly resource: string;
  /** The name for people: `gift cards`. */
  readonly text: string;
  readonly capacity: number;
  readonly audited: boolean;
  usage(source: Sql): Promise<{ readonly count: number }>;
}

/** The number of records of a resource; `undefined` if the database does not respond. */
export async function recordCount(resource: ReportedResource, dataSource: DataSource): Promise<number | undefined> {
  const usage = await withinTimeout(
    resource.usage(committed(dataSource)).catch(() => undefined),
    undefined,
  );
  return usage?.count;
}

/** All resources. The module of a resource adds it here. */
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
