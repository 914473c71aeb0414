import type { ErrorDetail } from '../http/errors/api-error.js';
import type { HeaderName } from './response-header-components.js';

/** An example of an error body. */
export interface ErrorExample {
  readonly message: string;
  /** Default: the status in words. */
  readonly errorCode?: string;
  readonly details?: readonly ErrorDetail[];
}

/** An error status of an operation, with examples by name. */
export interface DescribedError {
  readonly status: number;
  readonly description: string;
  readonly examples: Readonly<Record<string, ErrorExample>>;
  readonly headers?: readonly HeaderName[];
}
