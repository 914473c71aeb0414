import { type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';

/** A class of routes that has separate limits. */
export type RouteClass = 'read' | 'write' | 'list';

const ROUTE_CLASS = 'rate-limit:class';

/** Sets the class in which requests of a route count. Without it, GET and HEAD are `read`, other methods `write`. */
export const RateClass = (routeClass: RouteClass) => SetMetadata(ROUTE_CLASS, routeClass);

export function routeClassOf(reflector: Reflector, context: ExecutionContext, method: string): RouteClass {
  const targets = [context.getHandler(), context.getClass()];
  const declared = reflector.getAllAndOverride<RouteClass | undefined>(ROUTE_CLASS, targets);
  return declared ?? (method === 'GET' || method === 'HEAD' ? 'read' : 'write');
}
