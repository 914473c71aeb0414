/** Batches on their way at once: while both are, what is asked for is gathered for the next. */
const MOST_ON_THE_WAY = 2;

interface Question<Item, Answer> {
  readonly item: Item;
  readonly answered: (answer: Answer) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * What is asked for together is asked of the database together, in one statement or transaction, where each would be a round
 * trip or a commit of its own. A batch is sent after everybody whom it answers has asked: nobody reads a state older than
 * the question.
 */
export class Gathered<Item, Answer> {
  private readonly waiting: Question<Item, Answer>[] = [];
  private onTheWay = 0;
  private next?: NodeJS.Immediate;

  /**
   * @param run answers each item, in their order; an `Error` fails that one alone, and what it throws fails all
   * @param largest the most items of a batch
   */
  constructor(
    private readonly run: (items: Item[]) => Promise<(Answer | Error)[]>,
    private readonly largest: number,
  ) {}

  ask(item: Item): Promise<Answer> {
    return new Promise((answered, failed) => {
      this.waiting.push({ item, answered, failed });
      this.sendSoon();
    });
  }

  /** Not at once: what arrived together is handled one after the other. */
  private sendSoon(): void {
    if (this.onTheWay < MOST_ON_THE_WAY) this.next ??= setImmediate(() => void this.send());
  }

  private async send(): Promise<void> {
    this.next = undefined;
    const batch = this.waiting.splice(0, this.largest);
    this.onTheWay++;
    if (this.waiting.length > 0) this.sendSoon();
    try {
      const answers = await this.run(batch.map(({ item }) => item));
      batch.forEach(({ answered, failed }, index) => {
        const answer = answers[index];
        if (answer instanceof Error) failed(answer);
        else answered(answer as Answer);
      });
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
    this.onTheWay--;
    if (this.waiting.length > 0) this.sendSoon();
  }
}
