import { channel } from 'node:diagnostics_channel';
import { SERVICE_NAME } from '../../config/service-name.js';

/**
 * What an engine reports of itself, whichever statement met it: a damaged file or page, an I/O error, a full volume, a
 * database that cannot be reached or opened. Failures of single statements and waits for locks are none.
 */
export const ENGINE_ERRORS = ['corrupt', 'io', 'full', 'unreachable'] as const;

export type EngineError = (typeof ENGINE_ERRORS)[number];

/** Where the engines publish each `EngineError` as they meet it. The metrics subscribe, so that the data layer does not import them. */
export const engineErrors = channel(`${SERVICE_NAME}:database:error`);
