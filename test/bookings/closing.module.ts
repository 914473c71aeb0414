import { Controller, HttpCode, Injectable, Module, Post } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { RecordId } from '../../src/resource/exchange.js';
import { found } from '../../src/resource/store/resource-repository.js';
import { TABLE } from './booking.entity.js';
import { BookingsModule } from './bookings.module.js';
import { BookingsService, TablesService } from './bookings.service.js';

@Injectable()
export class ClosingService {
  constructor(
    private readonly tables: TablesService,
    private readonly bookings: BookingsService,
  ) {}

  /** Closes a table and cancels its bookings: both, or neither. */
  close(id: number): Promise<void> {
    return this.tables.records.transaction(async (transaction) => {
      found(TABLE, id, await this.tables.records.in(transaction).update(id, { isOpen: false }));
      await this.bookings.cancelOfTable(id, transaction);
    });
  }
}

@Controller('tables/:id/close')
export class ClosingController {
  constructor(private readonly closing: ClosingService) {}

  @Post()
  @HttpCode(204)
  @Scopes('tables:write', 'bookings:write')
  @ApiOperation({ operationId: 'closeTable', summary: 'Close a table and cancel its bookings' })
  @ApiResponse({ status: 204, description: 'The table is closed' })
  close(@RecordId() id: number): Promise<void> {
    return this.closing.close(id);
  }
}

/** A third feature, which knows both of the others. */
@Module({ imports: [BookingsModule], controllers: [ClosingController], providers: [ClosingService] })
export class ClosingModule {}
