import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiSecurity } from '@nestjs/swagger';

export const SCOPES = 'auth:scopes';
export const PUBLIC = 'auth:public';

/** The token must have all of these scopes. A route with neither this nor `@Public()` is closed to everyone. */
export function Scopes(...scopes: [string, ...string[]]): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(SCOPES, scopes), ApiBearerAuth());
}

/** The route needs no token. */
export function Public(): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(PUBLIC, true), ApiSecurity({}));
}
