import { applyDecorators, SetMetadata, type Type } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { ApiBearerAuth, ApiSecurity } from '@nestjs/swagger';

const ACCESS = 'auth:access';

/** Who may use a route: everyone, or the bearer of a token with all of these scopes. */
export type Access = 'public' | readonly string[];

/** The token must have all of these scopes. A route with neither this nor `@Public()` is closed to everyone. */
export function Scopes(...scopes: [string, ...string[]]): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(ACCESS, scopes), ApiBearerAuth());
}

/** The route needs no token. */
export function Public(): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(ACCESS, 'public'), ApiSecurity({}));
}

/** What the decorators of a route say; those of the handler win over those of its class. `undefined` where there is none. */
export function accessOf(reflector: Reflector, handler: () => unknown, controller: Type): Access | undefined {
  return reflector.getAllAndOverride<Access | undefined>(ACCESS, [handler, controller]);
}
