/** Records read at once when a list is as long as it is. */
export const PAGE = 1000;

// A statement of SQLite holds the event loop from its start to its end. Within these bounds it takes 2 ms, even where every
// record has a string of 255 emoji; see docs/adr/0061-lists-yield-the-event-loop.md.
/** Rows that one statement may read in search of matching records. */
export const SCANNED_ROWS = 2000;
/** Bytes of JSON that one statement should return, and the records it returns while their length is unknown. */
const JSON_LENGTH = 128 * 1024;
const FIRST_RECORDS = 200;

/** How many records one statement of a list returns at most. */
export class RecordsPerStatement {
  most: number;

  constructor(private readonly isRemote: boolean) {
    this.most = isRemote ? PAGE : FIRST_RECORDS;
  }

  /** To be called with the length of records that a statement has returned. */
  learn(bytesPerRecord: number): void {
    if (this.isRemote) return;
    const fitting = Math.floor(JSON_LENGTH / bytesPerRecord);
    this.most = Math.max(1, Math.min(PAGE, fitting));
  }
}
