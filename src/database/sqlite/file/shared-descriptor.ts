import { closeSync, openSync, statSync } from 'node:fs';

/**
 * A descriptor of a database file beside those of SQLite. All data sources of this process share one, and the last closes it:
 * closing any descriptor of a file gives up all locks that this process holds on it (https://sqlite.org/howtocorrupt.html section 2.2).
 */
export class SharedDescriptor {
  private static readonly open = new Map<string, SharedDescriptor>();
  private users = 0;

  private constructor(
    private readonly inode: string,
    readonly number: number,
  ) {}

  static of(path: string): SharedDescriptor {
    const { dev, ino } = statSync(path);
    const inode = `${dev}:${ino}`;
    const shared = this.open.get(inode) ?? new SharedDescriptor(inode, openSync(path, 'r+'));
    this.open.set(inode, shared);
    shared.users++;
    return shared;
  }

  /** To be called after the connections of the data source have been closed. */
  close(): void {
    if (--this.users > 0) return;
    SharedDescriptor.open.delete(this.inode);
    closeSync(this.number);
  }
}
