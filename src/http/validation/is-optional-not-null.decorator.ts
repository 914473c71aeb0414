import { ValidateIf } from 'class-validator';

/** Makes a property optional. Unlike `IsOptional` of class-validator, it does not accept `null`. */
export function IsOptionalNotNull(): PropertyDecorator {
  return ValidateIf((_object: unknown, value: unknown) => value !== undefined);
}
