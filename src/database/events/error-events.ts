import { channel } from 'node:diagnostics_channel';
import { SERVICE_NAME } from '../../config/service-name.js';

/**
 * Errors that concern the whole database: a damaged file or page, an I/O error, a full volume, a database that cannot
 * be reached or opened. Failed statements and waits for locks do not count.
 */
export const ENGINE_ERRORS = ['corrupt', 'io', 'full', 'unreachable'] as const;

export type EngineError = (typeof ENGINE_ERRORS)[number];

/** The engines publish each `EngineError` here. The metrics subscribe, so that the data layer does not import them. */
export const engineErrors = channel(`${SERVICE_NAME}:database:error`);
