import 'reflect-metadata';
import fc from 'fast-check';
import {
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  ValidateIf,
  ValidateNested,
  validateSync,
} from 'class-validator';
import { propertiesOf } from './dto-properties.js';

class Parent {
  @IsInt()
  @Min(1)
  @Max(5)
  level!: number;

  @IsIn(['small', 'large'])
  size!: string;
}

class Simple extends Parent {
  /** Stricter than that of the parent. */
  @Max(3)
  declare level: number;

  @IsOptional()
  @IsString()
  @Length(1, 3)
  name?: string | null;

  @ValidateIf(({ size }: Simple) => size === 'large')
  @Matches(/^[ab]+$/)
  code?: string;

  @IsDefined()
  @IsBoolean()
  flag!: boolean;
}

class Inner {
  @IsInt()
  of!: number;
}

class WithItems {
  @IsOptional()
  @IsArray()
  @IsInt({ each: true })
  items?: number[];

  @IsOptional()
  @ValidateNested()
  inner?: Inner;
}

const ANY = fc.constantFrom<unknown>(
  undefined,
  null,
  true,
  '',
  'small',
  'large',
  'ab',
  'abcd',
  0,
  1,
  3,
  4,
  1.5,
  {},
  [],
);

function instanceOf<T extends object>(dto: new () => T, values: object): T {
  return Object.assign(new dto(), values);
}

function isValid(instance: object): boolean {
  return validateSync(instance, { forbidUnknownValues: true }).length === 0;
}

describe('the quick check', () => {
  it('holds for what class-validator accepts, and for nothing else, where all decorators are simple', () => {
    const values = fc.record({ level: ANY, size: ANY, name: ANY, code: ANY, flag: ANY }, { requiredKeys: [] });
    const { quickCheck } = propertiesOf(Simple);
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(values, fc.constant({ level: 3, size: 'small', flag: true })), (each) => {
        const instance = instanceOf(Simple, each);
        if (isValid(instance)) accepted += 1;
        expect(quickCheck(instance)).toBe(isValid(instance));
      }),
      { numRuns: 2000 },
    );
    expect(accepted).toBeGreaterThan(0);
  });

  it('holds for nothing that class-validator rejects, and leaves items and nested objects to it', () => {
    const inner = fc.oneof(
      ANY,
      fc.record({ of: ANY }).map((values) => instanceOf(Inner, values)),
    );
    const values = fc.record({ items: fc.oneof(ANY, fc.array(ANY, { maxLength: 2 })), inner }, { requiredKeys: [] });
    const { quickCheck } = propertiesOf(WithItems);
    fc.assert(
      fc.property(values, (each) => {
        const instance = instanceOf(WithItems, each);
        if (quickCheck(instance)) expect(isValid(instance)).toBe(true);
      }),
      { numRuns: 2000 },
    );
    expect(quickCheck(new WithItems())).toBe(true);
    expect(quickCheck(instanceOf(WithItems, { items: [1] }))).toBe(false);
  });
});
