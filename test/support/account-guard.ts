import type { CanActivate, ExecutionContext } from '@nestjs/common';

/** Replaces `request.user` by the user of an application, as a guard of Passport does with the result of `validate`. */
export class AccountGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    context.switchToHttp().getRequest<{ user: object }>().user = { id: 7, email: 'ada@example.org' };
    return true;
  }
}
