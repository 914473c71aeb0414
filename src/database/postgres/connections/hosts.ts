import type { PostgresHost } from '../../../config/postgres-url.js';

/** The configured servers, and the one that was the primary last. */
export class Hosts {
  private index = 0;
  /** Increased when a server stopped or lost its role. Connections of earlier generations may lead to it. */
  generation = 0;

  constructor(private readonly all: readonly PostgresHost[]) {}

  get count(): number {
    return this.all.length;
  }

  get current(): PostgresHost {
    return this.all[this.index]!;
  }

  /** Chooses another host, because `host` failed or is read-only. */
  failOver(host: PostgresHost): void {
    if (host === this.current) this.index = (this.index + 1) % this.all.length;
  }

  /** Ends a generation, because one of its connections broke or led to the wrong server. */
  distrust(generation: number): void {
    if (generation === this.generation) this.generation++;
  }

  toString(): string {
    return this.all.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)).join(',');
  }
}
