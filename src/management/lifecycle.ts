import { Injectable } from '@nestjs/common';

/** Whether the service is shutting down. Set once, at the first signal, before anything is closed. */
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
