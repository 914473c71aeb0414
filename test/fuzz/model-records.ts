/** A record as its only writer knows it. */
export interface KnownRecord {
  readonly id: number;
  readonly flavor: string;
  readonly size: string;
  readonly wish: string;
  /** Absent after a change whose response does not say it. */
  readonly etag?: string;
  readonly staleEtag?: string;
}

/** How many records there may be while a request is answered: what is certain, and what others are about to do. */
export class RecordCount {
  private created = 0;
  private deleted = 0;
  private creating = 0;
  private deleting = 0;

  constructor(readonly capacity: number) {}

  /** What is certain before a request is sent, for `bounds` when its response has come. */
  get before(): { created: number; deleted: number } {
    return { created: this.created, deleted: this.deleted };
  }

  /** Fewest and most records at any time since then, without those that the request itself has brought. */
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
