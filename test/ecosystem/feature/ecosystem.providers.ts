import { Transactional, TransactionHost } from '@nestjs-cls/transactional';
import type { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { Processor, WorkerHost } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { OnEvent } from '@nestjs/event-emitter';
import { Interval } from '@nestjs/schedule';
import type { Job } from 'bullmq';

@Injectable()
export class Ticks {
  count = 0;

  @Interval(50)
  tick(): void {
    this.count++;
  }
}

@Injectable()
export class Listener {
  heard: string[] = [];

  @OnEvent('said')
  hear(word: string): void {
    this.heard.push(word);
  }
}

export class DoubleCommand extends Command<number> {
  constructor(readonly value: number) {
    super();
  }
}

@CommandHandler(DoubleCommand)
export class DoubleHandler implements ICommandHandler<DoubleCommand> {
  execute({ value }: DoubleCommand): Promise<number> {
    return Promise.resolve(value * 2);
  }
}

@Processor('jobs')
export class JobProcessor extends WorkerHost {
  process(job: Job<{ value: number }>): Promise<number> {
    return Promise.resolve(job.data.value + 1);
  }
}

@Injectable()
export class TransactionalWork {
  constructor(private readonly host: TransactionHost<TransactionalAdapterTypeOrm>) {}

  @Transactional()
  isInTransaction(): Promise<boolean> {
    return Promise.resolve(this.host.tx.queryRunner?.isTransactionActive ?? false);
  }
}
