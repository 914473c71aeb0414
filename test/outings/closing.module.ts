import { Controller, HttpCode, Injectable, Module, Post } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { RecordId } from '../../src/resource/exchange.js';
import { requireFound } from '../../src/resource/store/resource-repository.js';
import { SLEIGH } from './outing.entity.js';
import { OutingsModule } from './outings.module.js';
import { OutingsService, SleighsService } from './outings.service.js';

@Injectable()
export class ClosingService {
  constructor(
    private readonly sleighs: SleighsService,
    private readonly outings: OutingsService,
  ) {}

  /** Closes a sleigh and cancels its outings: both, or neither. */
  close(id: number): Promise<void> {
    return this.sleighs.records.transaction(async (transaction) => {
      requireFound(SLEIGH, id, await this.sleighs.records.in(transaction).update(id, { isOpen: false }));
      await this.outings.cancelOfSleigh(id, transaction);
    });
  }
}

@Controller('sleighs/:id/close')
export class ClosingController {
  constructor(private readonly closing: ClosingService) {}

  @Post()
  @HttpCode(204)
  @Scopes('sleighs:write', 'outings:write')
  @ApiOperation({ operationId: 'closeSleigh', summary: 'Close a sleigh and cancel its outings' })
  @ApiResponse({ status: 204, description: 'The sleigh is closed' })
  close(@RecordId() id: number): Promise<void> {
    return this.closing.close(id);
  }
}

/** A third feature, which uses the other two. */
@Module({ imports: [OutingsModule], controllers: [ClosingController], providers: [ClosingService] })
export class ClosingModule {}
