import { Injectable, type OnModuleInit } from '@nestjs/common';
import { propertiesOf } from './dto-properties.js';
import { argumentsOf, type HandlerArgument, Handlers } from '../routing/handlers.js';
import { isDtoType } from './validation.pipe.js';

/** A handler declares something that could not be validated; the message names it and says what would be right. */
export class RouteError extends Error {
  constructor(errors: readonly string[]) {
    super(`These handlers would take what nobody validates:\n${errors.map((error) => `  - ${error}`).join('\n')}`);
    this.name = 'RouteError';
  }
}

/** Looks at every handler when the service starts: what the validation pipe cannot validate must not get past it. */
@Injectable()
export class RouteCheck implements OnModuleInit {
  constructor(private readonly handlers: Handlers) {}

  /** @throws {RouteError} */
  onModuleInit(): void {
    const errors = this.handlers
      .all()
      .flatMap(({ controller, method, name }) =>
        argumentsOf(controller, method).flatMap((argument) => errorsOf(argument).map((error) => `${name}: ${error}`)),
      );
    if (errors.length > 0) throw new RouteError(errors);
  }
}

/** Pipes of the argument's own see to what the global one cannot. */
function errorsOf({ decorator, name, type, hasPipes }: HandlerArgument): readonly string[] {
  if (name !== undefined) {
    if (decorator === 'Body') return [`@Body('${name}') is not supported; declare a DTO class and use @Body()`];
    const isOpen = isDtoType(type) && !hasPipes;
    return isOpen ? [`@${decorator}('${name}') cannot be a ${type.name}; use @${decorator}() with it`] : [];
  }
  if (isDtoType(type)) return propertiesOf(type).errors;
  if (hasPipes || decorator === 'Param') return [];
  if (decorator === 'Body' && type === Array) return ['@Body() is an array; use @Body(arrayOf(ItemDto))'];
  const typeName =
    typeof type === 'function' && type !== Object ? type.name : 'an interface or another type without a class';
  return [`@${decorator}() is ${typeName}; declare a DTO class, and import it as a value, not with "import type"`];
}
