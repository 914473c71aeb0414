interface Generated {
  readonly isGenerated?: boolean;
  readonly generationStrategy?: string;
}

/** Tells whether a column is a number that the database generates. */
export const isAutoIncrement = ({ isGenerated, generationStrategy }: Generated): boolean =>
  isGenerated === true && generationStrategy === 'increment';
