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
export interface PossibleCounts {
  readonly capacity: number;
  /** The minimum and maximum number of records since the request began, without its own new record. */
  bounds(): { fewest: number; most: number };
}

/** Counts the records and the requests in flight that create or delete one. */
export class RecordCount {
  private created = 0;
  private deleted = 0;
  private creating = 0;
  private deleting = 0;

  constructor(private readonly capacity: number) {}

  /** Call `end` after the response. */
  begin(method: string): PossibleCounts & { end(succeeded: boolean): void } {
    const [created, deleted] = [this.created, this.deleted];
    const [creates, deletes] = ['POST', 'DELETE'].map((each) => (method === each ? 1 : 0)) as [number, number];
    this.creating += creates;
    this.deleting += deletes;
    return {
      capacity: this.capacity,
      bounds: () => ({
        fewest: created - this.deleted - this.deleting,
        most: this.created + this.creating - creates - deleted,
      }),
      end: (succeeded) => {
        this.creating -= creates;
        this.deleting -= deletes;
        this.created += succeeded ? creates : 0;
        this.deleted += succeeded ? deletes : 0;
      },
    };
  }
}
