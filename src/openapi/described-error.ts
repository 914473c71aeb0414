import type { ErrorDetail } from '../http/errors/api-error.js';
import type { HeaderName } from './response-header-components.js';

/** One error body, but for what follows from its status. */
export interface ErrorExample {
  readonly message: string;
  /** Default: the status in words. */
  readonly errorCode?: string;
  readonly details?: readonly ErrorDetail[];
}

/** One status with which a request fails, and its bodies by name. */
export interface DescribedError {
  readonly status: number;
  readonly description: string;
  readonly examples: Readonly<Record<string, ErrorExample>>;
  readonly headers?: readonly HeaderName[];
}
