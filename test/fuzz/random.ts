/** Pseudo-random numbers (generator sfc32). Equal seeds and streams give equal numbers. */
export class Random {
  private a: number;
  private b: number;
  private c = 0x9e3779b9 | 0;
  private d = 1;

  /** @param stream distinguishes sequences of one seed */
  constructor(seed: number, stream = 0) {
    this.a = seed | 0;
    this.b = stream | 0;
    for (let round = 0; round < 12; round++) this.next();
  }

  /** From 0 to 2^32-1. */
  next(): number {
    const sum = (((this.a + this.b) | 0) + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** From 0 to `end` - 1. */
  below(end: number): number {
    return this.next() % end;
  }

  between(first: number, last: number): number {
    return first + this.below(last - first + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability * 2 ** 32;
  }

  pick<T>(items: readonly [T, ...T[]] | readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** A random item; its weight is its share. */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T {
    let rest = this.below(items.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, item] of items) {
      if (rest < weight) return item;
      rest -= weight;
    }
    throw new Error('There is nothing to choose from');
  }
}
