import { Injectable, type OnModuleInit, type PipeTransform, type Type } from '@nestjs/common';
import { PIPES_METADATA, ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import { propertiesOf } from './dto-properties.js';
import { type Handler, Handlers } from '../routing/handlers.js';
import { isDtoType } from './validation.pipe.js';

/** A handler declares something that could not be validated; the message names it and says what would be right. */
export class RouteError extends Error {
  constructor(errors: readonly string[]) {
    super(`These handlers would take what nobody validates:\n${errors.map((error) => `  - ${error}`).join('\n')}`);
    this.name = 'RouteError';
  }
}

interface Argument {
  readonly index: number;
  readonly data?: string;
  readonly pipes?: readonly (PipeTransform | Type)[];
}

const CHECKED = new Map<string, 'Body' | 'Query' | 'Param'>([
  [String(RouteParamtypes.BODY), 'Body'],
  [String(RouteParamtypes.QUERY), 'Query'],
  [String(RouteParamtypes.PARAM), 'Param'],
]);

/** Looks at every handler when the service starts: what the validation pipe cannot validate must not get past it. */
@Injectable()
export class RouteCheck implements OnModuleInit {
  constructor(private readonly handlers: Handlers) {}

  /** @throws {RouteError} */
  onModuleInit(): void {
    const errors = this.handlers.all().flatMap((handler) => errorsOf(handler));
    if (errors.length > 0) throw new RouteError(errors);
  }
}

function errorsOf({ controller, method, name }: Handler): string[] {
  const declared = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) ?? {}) as Record<string, Argument>;
  const types = (Reflect.getMetadata('design:paramtypes', controller.prototype as object, method) ?? []) as unknown[];
  const prototype = controller.prototype as Record<string, object>;
  const hasPipes = [controller, prototype[method]!].some((target) => Reflect.hasMetadata(PIPES_METADATA, target));
  return Object.entries(declared).flatMap(([key, argument]) => {
    const decorator = CHECKED.get(key.split(':')[0]!);
    if (decorator === undefined) return [];
    const validates = hasPipes || (argument.pipes?.length ?? 0) > 0;
    return errorsOfArgument(decorator, argument.data, types[argument.index], validates).map(
      (error) => `${name}: ${error}`,
    );
  });
}

/** @param validates whether the argument has pipes of its own, which see to what the global one cannot */
function errorsOfArgument(
  decorator: 'Body' | 'Query' | 'Param',
  data: string | undefined,
  type: unknown,
  validates: boolean,
): readonly string[] {
  if (data !== undefined) {
    if (decorator === 'Body') return [`@Body('${data}') is not supported; declare a DTO class and use @Body()`];
    const isOpen = isDtoType(type) && !validates;
    return isOpen ? [`@${decorator}('${data}') cannot be a ${type.name}; use @${decorator}() with it`] : [];
  }
  if (isDtoType(type)) return propertiesOf(type).errors;
  if (validates || decorator === 'Param') return [];
  if (decorator === 'Body' && type === Array) return ['@Body() is an array; use @Body(arrayOf(ItemDto))'];
  const typeName =
    typeof type === 'function' && type !== Object ? type.name : 'an interface or another type without a class';
  return [`@${decorator}() is ${typeName}; declare a DTO class, and import it as a value, not with "import type"`];
}
