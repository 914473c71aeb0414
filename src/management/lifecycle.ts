import { Injectable } from '@nestjs/common';

/** Tells whether the service is shutting down: from the first signal on, before anything is closed. */
@Injectable()
export class Lifecycle {
  private stopping = false;

  get isStopping(): boolean {
    return this.stopping;
  }

  stop(): void {
    this.stopping = true;
  }
}
