import { Injectable } from '@nestjs/common';

@Injectable()
export class Lifecycle {
  /** Set at the first signal, before anything is closed. */
  isStopping = false;
}
