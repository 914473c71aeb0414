import type { PostgresHost } from '../../../config/postgres-url.js';

/** The servers of which one is the primary, and the one that was it last. */
export class Hosts {
  private index = 0;
  /** Raised when a server turned out to be gone, or the primary no longer: connections made before may lead to it. */
  generation = 0;

  constructor(private readonly all: readonly PostgresHost[]) {}

  get count(): number {
    return this.all.length;
  }

  get current(): PostgresHost {
    return this.all[this.index]!;
  }

  /** `host` failed or is read-only, so the next connections go elsewhere, unless they do already. */
  failOver(host: PostgresHost): void {
    if (host === this.current) this.index = (this.index + 1) % this.all.length;
  }

  /** A connection made in `generation` broke or leads to the wrong server: so may the others of that time. */
  distrust(generation: number): void {
    if (generation === this.generation) this.generation++;
  }

  toString(): string {
    return this.all.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)).join(',');
  }
}
