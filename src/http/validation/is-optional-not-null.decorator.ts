import { ValidateIf } from 'class-validator';

/** The property may be left out. Unlike class-validator's `IsOptional`, `null` is not the same as absent. */
export function IsOptionalNotNull(): PropertyDecorator {
  return ValidateIf((_object: unknown, value: unknown) => value !== undefined);
}
