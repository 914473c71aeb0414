/** A set of ids with 32 bits for each map entry: dense ids, as in an export, take little memory. */
export class IdSet {
  private readonly words = new Map<number, number>();

  /** @returns whether the id was not in the set */
  add(id: number): boolean {
    const key = Math.floor(id / 32);
    const bit = 1 << (id % 32);
    const word = this.words.get(key) ?? 0;
    this.words.set(key, word | bit);
    return (word & bit) === 0;
  }
}
