import {
  getMetadataStorage,
  type ValidationArguments,
  ValidationTypes,
  type ValidatorConstraintInterface,
} from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';

/**
 * Whether an instance holds to all decorators of its class. class-validator makes an error for each property before it knows of
 * any, and looks up what the decorators say for each object anew; this does neither. `false` says no more than that
 * class-validator is to be asked, which alone looks into nested objects and at items, and knows what is wrong.
 */
export type QuickCheck = (instance: object) => boolean;

interface PropertyCheck {
  readonly name: string;
  /** Those of `@IsOptional()` and `@ValidateIf(...)`: all must hold, or the value is not looked at. */
  readonly conditions: readonly ((instance: object, value: unknown) => boolean)[];
  /** None where class-validator is to be asked. */
  rules?: readonly Rule[];
}

interface Rule {
  readonly validator: ValidatorConstraintInterface;
  readonly constraints: unknown[];
}

const { CUSTOM_VALIDATION, CONDITIONAL_VALIDATION, IS_DEFINED, WHITELIST } = ValidationTypes;
const SIMPLE = new Set([CUSTOM_VALIDATION, CONDITIONAL_VALIDATION, IS_DEFINED, WHITELIST]);

/** @param decorators those of one class */
export function quickCheckOf(decorators: ValidationMetadata[]): QuickCheck {
  let checks: PropertyCheck[] | undefined;
  return (instance) => {
    checks ??= checksOf(decorators);
    return checks.length > 0 && checks.every((check) => holds(check, instance));
  };
}

function checksOf(decorators: ValidationMetadata[]): PropertyCheck[] {
  return Object.entries(getMetadataStorage().groupByPropertyName(decorators)).map(([name, own]) => {
    const conditional = own.filter(({ type }) => type === CONDITIONAL_VALIDATION);
    return {
      name,
      conditions: conditional.map(({ constraints }) => constraints[0] as PropertyCheck['conditions'][number]),
      rules: own.every(isSimple) ? rulesOf(own) : undefined,
    };
  });
}

function isSimple({ type, each, groups, validateIf }: ValidationMetadata): boolean {
  return SIMPLE.has(type) && !each && !groups?.length && validateIf === undefined;
}

function rulesOf(decorators: readonly ValidationMetadata[]): Rule[] {
  const custom = decorators.filter(({ type }) => type === CUSTOM_VALIDATION || type === IS_DEFINED);
  return custom.flatMap(({ constraintCls, constraints }) => {
    const found = getMetadataStorage().getTargetValidatorConstraints(constraintCls);
    return found.map(({ instance }) => ({ validator: instance, constraints }));
  });
}

function holds(check: PropertyCheck, instance: object): boolean {
  const { name, conditions, rules } = check;
  const value: unknown = (instance as Record<string, unknown>)[name];
  for (const condition of conditions) if (!condition(instance, value)) return true;
  if (rules === undefined) return false;
  for (const { validator, constraints } of rules) {
    const about: ValidationArguments = {
      targetName: instance.constructor.name,
      property: name,
      object: instance,
      value,
      constraints,
    };
    const outcome: unknown = validator.validate(value, about);
    if (outcome === true) continue;
    if (outcome instanceof Promise) leaveToLibrary(check, outcome);
    return false;
  }
  return true;
}

/** Only what a validator returns tells that it is asynchronous, marked or not. */
function leaveToLibrary(check: PropertyCheck, outcome: Promise<unknown>): void {
  check.rules = undefined;
  outcome.catch(() => undefined);
}
