/** What the programs use of Node. Its own types would replace those of fetch, which the clients are made for. */
declare const process: {
  readonly argv: readonly string[];
  readonly stdout: { write(text: string): boolean };
};
