/** A record as its only writer knows it. */
export interface KnownRecord {
  readonly id: number;
  readonly flavor: string;
  readonly size: string;
  readonly wish: string;
  /** Absent if the response to the last change had none. */
  readonly etag?: string;
  readonly staleEtag?: string;
}

/** The possible numbers of records while a request is answered. */
export class RecordCount {
  private created = 0;
  private deleted = 0;
  private creating = 0;
  private deleting = 0;

  constructor(readonly capacity: number) {}

  /** The known numbers before a request, for `bounds` after its response. */
  get before(): { created: number; deleted: number } {
    return { created: this.created, deleted: this.deleted };
  }

  /** The minimum and maximum number of records since then, without records of the request itself. */
  bounds(before: { created: number; deleted: number }, own: number): { fewest: number; most: number } {
    return {
      fewest: before.created - this.deleted - this.deleting,
      most: this.created + this.creating - own - before.deleted,
    };
  }

  begin(method: string): void {
    if (method === 'POST') this.creating += 1;
    if (method === 'DELETE') this.deleting += 1;
  }

  end(method: string, succeeded: boolean): void {
    if (method === 'POST') this.creating -= 1;
    if (method === 'DELETE') this.deleting -= 1;
    if (succeeded && method === 'POST') this.created += 1;
    if (succeeded && method === 'DELETE') this.deleted += 1;
  }
}
