import { closeSync, openSync, statSync } from 'node:fs';

/**
 * One descriptor of a database file for all data sources of this process. The last data source closes it, because
 * closing any descriptor releases all locks of this process on the file (https://sqlite.org/howtocorrupt.html section
 * 2.2).
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

  /** Call it after the connections of the data source have been closed. */
  close(): void {
    if (--this.users > 0) return;
    SharedDescriptor.open.delete(this.inode);
    closeSync(this.number);
  }
}
