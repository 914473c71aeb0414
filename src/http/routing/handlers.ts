import type { ExecutionContext, Type } from '@nestjs/common';
// Nest has no public API for the metadata of a handler. Only this file uses Nest's internal constants.
import {
  METHOD_METADATA,
  PATH_METADATA,
  PIPES_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
} from '@nestjs/common/internal';
import { type DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { targetOf } from '../messages/request.js';

const scanner = new MetadataScanner();

/** The methods of all controllers that serve a route. */
export function handlersOf(discovery: DiscoveryService) {
  const controllers = new Set(discovery.getControllers().map(({ metatype }) => metatype as Type));
  return [...controllers].flatMap((controller) => {
    const prototype = controller.prototype as Record<string, () => unknown>;
    return scanner
      .getAllMethodNames(prototype)
      .map((method) => ({ controller, method, handler: prototype[method]! }))
      .filter(({ handler }) => Reflect.hasMetadata(METHOD_METADATA, handler));
  });
}

const DECORATORS: Readonly<Record<string, 'Body' | 'RawBody' | 'Query' | 'Param'>> = {
  [RouteParamtypes.BODY]: 'Body',
  [RouteParamtypes.RAW_BODY]: 'RawBody',
  [RouteParamtypes.QUERY]: 'Query',
  [RouteParamtypes.PARAM]: 'Param',
};

type ArgumentsMetadata = Record<string, { index: number; data?: string; pipes?: unknown[]; schema?: object }>;

/** The name of the method that is the handler. A decorator may have replaced it by a function with another name. */
export function methodOf(controller: Type, handler: unknown): string | undefined {
  const prototype = controller.prototype as Record<string, unknown>;
  return scanner.getAllMethodNames(prototype).find((name) => prototype[name] === handler);
}

export type HandlerArgument = ReturnType<typeof argumentsOf>[number];

/** The arguments of a handler with `@Body`, `@RawBody`, `@Query` or `@Param`. */
export function argumentsOf(controller: Type, method: string) {
  const metadata = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) ?? {}) as ArgumentsMetadata;
  const prototype = controller.prototype as Record<string, object>;
  const types = (Reflect.getMetadata('design:paramtypes', prototype, method) ?? []) as unknown[];
  const shared = [controller, prototype[method]!].flatMap(
    (target) => (Reflect.getMetadata(PIPES_METADATA, target) ?? []) as unknown[],
  );
  return Object.entries(metadata).flatMap(([key, { index, data, pipes: own = [], schema }]) => {
    const decorator = DECORATORS[key.split(':')[0]!];
    if (decorator === undefined) return [];
    // Classes or instances, of the argument, the handler and the controller.
    const pipes = [...shared, ...own];
    // The type is a class, or `Object` for an interface. The name is that in `@Query('name')`.
    return [{ decorator, name: data, type: types[index], pipes, hasSchema: schema !== undefined }];
  });
}

/** The path of a request before the segments of its controller: a global prefix or a version, such as `/api/v1`. */
export function pathPrefix(context: ExecutionContext): string {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  const own = [context.getClass(), context.getHandler()].map(
    (target) => Reflect.getMetadata(PATH_METADATA, target) as string,
  );
  const count = segments(request.routeOptions.url).length - segments(own.join('/')).length;
  if (count === 0) return '';
  return segments(targetOf(request).pathname)
    .slice(0, count)
    .map((segment) => `/${segment}`)
    .join('');
}

const segments = (path = ''): string[] => path.split('/').filter(Boolean);
