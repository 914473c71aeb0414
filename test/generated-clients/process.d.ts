/** The part of Node's `process` that the programs use. Node's own types would replace the types of fetch. */
declare const process: {
  readonly argv: readonly string[];
  readonly stdout: { write(text: string): boolean };
};
