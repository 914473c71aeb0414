import { Module } from '@nestjs/common';
import { ResourceModule } from '../../src/resource/resource.module.js';
import { Note, Ticket } from './ticket.entity.js';
import { NOTE, TICKET } from './ticket.values.js';
import { NotesController, TicketsController } from './tickets.controller.js';

@Module({
  imports: [
    ResourceModule.forFeature({ name: TICKET, entity: Ticket, capacity: () => 100 }),
    ResourceModule.forFeature({ name: NOTE, entity: Note, capacity: () => 100 }),
  ],
  controllers: [TicketsController, NotesController],
})
export class TicketsModule {}
