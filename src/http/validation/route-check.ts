import { Injectable, type OnModuleInit, type Type, ValidationPipe } from '@nestjs/common';
import { ApplicationConfig, DiscoveryService } from '@nestjs/core';
import { Readable } from 'node:stream';
import { type AcceptedBody, acceptedBodyOf } from '../body/accepts-body.decorator.js';
import { LARGEST_IN_MEMORY, MULTIPART } from '../body/body-limit.js';
import { Upload } from '../body/upload.js';
import { changedAgain, propertiesOf } from './property-decorators.js';
import { argumentsOf, type HandlerArgument, handlersOf } from '../routing/handlers.js';
import { CONTENT, isDtoType } from './validation.pipe.js';

/** An error of the start: handlers have arguments that cannot be validated. The message names them and a correction. */
export class RouteError extends Error {
  constructor(errors: readonly string[]) {
    const list = errors.map((error) => `  - ${error}`).join('\n');
    super(`These handlers have arguments that cannot be validated:\n${list}`);
    this.name = 'RouteError';
  }
}

/** Rejects handlers whose arguments the validation pipe cannot validate, when the service starts. */
@Injectable()
export class RouteCheck implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly application: ApplicationConfig,
  ) {}

  onModuleInit(): void {
    // A second global pipe is one of a team, such as Nest's own with `transform: true`.
    const globalPipes = this.application.getGlobalPipes();
    const isConverted = globalPipes.length > 1;
    const errors = handlersOf(this.discovery).flatMap(({ controller, method, handler }) => {
      const accepted = acceptedBodyOf(handler);
      return argumentsOf(controller, method)
        .flatMap((argument) => [
          ...errorsOf(argument, isConverted),
          ...bodyErrors(argument, accepted),
          ...repetitionErrors(argument, globalPipes),
        ])
        .map((error) => `${controller.name}.${method}: ${error}`);
    });
    if (errors.length > 0) throw new RouteError(errors);
  }
}

/** Types that a parameter has only after a pipe: a path and a query are texts. */
const CONVERTED = new Set<unknown>([Number, Boolean, BigInt, Date]);

/** The errors of an argument. Its own pipes, or its schema, may validate types that the global pipe cannot. */
function errorsOf(
  { decorator, name, type, pipes, hasSchema }: HandlerArgument,
  isConverted: boolean,
): readonly string[] {
  const isValidated = pipes.length > 0 || hasSchema;
  if (decorator === 'RawBody') {
    return ['@RawBody() is always undefined; use @Body() body: Buffer with @AcceptsBody({ type, limit })'];
  }
  if (name !== undefined) {
    if (decorator === 'Body') return [`@Body('${name}') is not supported; declare a DTO class and use @Body()`];
    if (isValidated) return [];
    const argument = `@${decorator}('${name}')`;
    if (isDtoType(type)) return [`${argument} cannot be a ${type.name}; use @${decorator}() with it`];
    return CONVERTED.has(type) && !isConverted
      ? [`${argument} is a text, not a ${(type as Type).name}; use a pipe, such as ParseIntPipe`]
      : [];
  }
  if (decorator === 'Body' && CONTENT.has(type)) return [];
  // TypeScript emits `Function` for a class that is imported with `import type`.
  const isUnknown = type === Object || type === Function;
  if (isDtoType(type) && !isUnknown) {
    const { declared, errors } = propertiesOf(type);
    return isValidated && declared.size === 0 ? [] : errors;
  }
  if (isValidated || decorator === 'Param') return [];
  if (decorator === 'Body' && type === Array) return ['@Body() is an array; use @Body(arrayOf(ItemDto))'];
  const typeName =
    typeof type === 'function' && !isUnknown ? type.name : 'an interface or another type without a class';
  return [`@${decorator}() is ${typeName}; declare a DTO class, and import it as a value, not with "import type"`];
}

/** The errors of a DTO that a team's `ValidationPipe` converts again after the global pipe, so that values change. */
function repetitionErrors({ name, type, pipes }: HandlerArgument, globalPipes: readonly unknown[]): readonly string[] {
  if (name !== undefined || !isDtoType(type) || ![...globalPipes, ...pipes].some(isValidationPipe)) return [];
  return changedAgain(type).map(
    (property) =>
      `${type.name}.${property} is converted twice; remove the ValidationPipe: the service validates without it`,
  );
}

function isValidationPipe(pipe: unknown): boolean {
  const prototype = typeof pipe === 'function' ? (pipe.prototype as unknown) : pipe;
  return prototype === ValidationPipe.prototype || prototype instanceof ValidationPipe;
}

/** The errors of an argument that does not fit the `@AcceptsBody()` of its handler. */
function bodyErrors(
  { decorator, type, hasSchema }: HandlerArgument,
  accepted: AcceptedBody | undefined,
): readonly string[] {
  if (decorator !== 'Body') return [];
  if (hasSchema && CONTENT.has(type)) return ['a schema is for JSON, not for a Buffer, Readable or Upload'];
  const types = accepted?.types;
  const isForm = types?.includes(MULTIPART) === true;
  if (isForm && types.length > 1) return [`@AcceptsBody() with ${MULTIPART} cannot have other types`];
  if (isForm !== (type === Upload)) return [`@AcceptsBody({ type: '${MULTIPART}' }) and an Upload need each other`];
  if (isForm) return accepted?.fields === undefined ? [] : propertiesOf(accepted.fields).errors;
  if ((types !== undefined) !== CONTENT.has(type))
    return ['@AcceptsBody({ type }) and a Buffer or Readable need each other'];
  const isTooLarge = accepted !== undefined && accepted.limit > LARGEST_IN_MEMORY && type !== Readable;
  return isTooLarge
    ? [`its body is kept in memory; its limit must be at most ${LARGEST_IN_MEMORY}, or take a Readable`]
    : [];
}
