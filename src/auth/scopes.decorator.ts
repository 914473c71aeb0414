import { applyDecorators, SetMetadata, type Type } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { ApiBearerAuth, ApiSecurity } from '@nestjs/swagger';

const ACCESS = 'auth:access';

/** The access rule of a route: public, or a token with all of these scopes. */
export type Access = 'public' | readonly string[];

/** Requires a token with all of these scopes. A route with neither `@Scopes()` nor `@Public()` is always 403. */
export function Scopes(...scopes: [string, ...string[]]): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(ACCESS, scopes), ApiBearerAuth());
}

/** Opens a route to requests without a token. */
export function Public(): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(ACCESS, 'public'), ApiSecurity({}));
}

/** The access rule of a handler or else of its class; `undefined` if neither has a decorator. */
export function accessOf(reflector: Reflector, handler: () => unknown, controller: Type): Access | undefined {
  return reflector.getAllAndOverride<Access | undefined>(ACCESS, [handler, controller]);
}
