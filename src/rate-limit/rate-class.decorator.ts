import { Reflector } from '@nestjs/core';

/** A class of routes that has separate limits. */
export type RouteClass = 'read' | 'write' | 'list';

/** Sets the class in which requests of a route count. Without it, GET and HEAD are `read`, other methods `write`. */
export const RateClass = Reflector.createDecorator<RouteClass>();
