/** A bit for each id, 32 of them under one key: ids that lie close together, as an export has them, take next to no memory. */
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
