import { Injectable, type OnModuleInit } from '@nestjs/common';
import { propertiesOf } from './dto-properties.js';
import { argumentsOf, type HandlerArgument, Handlers } from '../routing/handlers.js';
import { isDtoType } from './validation.pipe.js';

/** An error of the start: handlers have arguments that cannot be validated. The message names them and the correction. */
export class RouteError extends Error {
  constructor(errors: readonly string[]) {
    super(
      `These handlers have arguments that cannot be validated:\n${errors.map((error) => `  - ${error}`).join('\n')}`,
    );
    this.name = 'RouteError';
  }
}

/** Rejects handlers whose arguments the validation pipe cannot validate, when the service starts. */
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

/** The errors of an argument. Its own pipes may validate types that the global pipe cannot. */
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
