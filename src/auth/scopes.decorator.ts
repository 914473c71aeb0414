import { applyDecorators, SetMetadata, type Type } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { ApiBearerAuth, ApiSecurity } from '@nestjs/swagger';

const ACCESS = 'auth:access';

/** The access rule of a route: public, or the required scopes. */
export type Access = 'public' | readonly string[];

/** Requires all of these scopes. A route with neither `@Scopes()` nor `@Public()` is 403 for everyone. */
export function Scopes(...scopes: [string, ...string[]]): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(ACCESS, scopes), ApiBearerAuth());
}

/** Allows requests without a token. */
export function Public(): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(ACCESS, 'public'), ApiSecurity({}));
}

/** The access rule of a route: from the handler, else from its class, else `undefined`. */
export function accessOf(reflector: Reflector, handler: () => unknown, controller: Type): Access | undefined {
  return reflector.getAllAndOverride<Access | undefined>(ACCESS, [handler, controller]);
}
