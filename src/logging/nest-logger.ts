import 'reflect-metadata';

/**
 * Nest's own `Logger`. The index of its package loads all of Nest's decorators and rxjs, which the command line opens databases
 * without; `reflect-metadata`, which the index loads too, its class needs.
 */
export { Logger } from '@nestjs/common/services/logger.service.js';
