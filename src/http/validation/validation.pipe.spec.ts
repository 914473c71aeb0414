import { IsInt } from 'class-validator';
import { arrayOf, RequestValidationPipe } from './validation.pipe.js';

class ItemDto {
  @IsInt()
  size!: number;
}

it('an array of DTOs rejects a long string in place of a DTO without a loop over its characters', async () => {
  const began = performance.now();
  await expect(arrayOf(ItemDto).transform(['a'.repeat(2_000_000)], { type: 'body' })).rejects.toMatchObject({
    details: [{ pointer: '/0', message: 'must be an object' }],
  });
  expect(performance.now() - began).toBeLessThan(1000);
});

it('a message of a WebSocket without data reaches a handler that declares no type, and is rejected for a DTO', async () => {
  const messageOf = (metatype?: typeof ItemDto | typeof Object) =>
    new RequestValidationPipe().transform(undefined, { type: 'body', metatype });
  expect(await messageOf()).toBeUndefined();
  expect(await messageOf(Object)).toBeUndefined();
  await expect(messageOf(ItemDto)).rejects.toMatchObject({ status: 400 });
});
