import { join } from 'node:path';
import ts from 'typescript';

/**
 * Compiles a copy of the project into its `dist`, as `nest build` does. After a change of one file it checks and writes
 * only that file and those that depend on it.
 */
export class Compiler {
  private readonly options: ts.CompilerOptions;
  private readonly host: ts.CompilerHost;
  private readonly files: readonly string[];
  private readonly sources = new Map<string, ts.SourceFile | undefined>();
  private program?: ts.EmitAndSemanticDiagnosticsBuilderProgram;

  constructor(private readonly folder: string) {
    const config = ts.getParsedCommandLineOfConfigFile(
      join(folder, 'tsconfig.build.json'),
      // A mutant may leave something unused, which the maintainer would remove, too.
      { noUnusedLocals: false, noUnusedParameters: false },
      { ...ts.sys, getCurrentDirectory: () => folder, onUnRecoverableConfigFileDiagnostic: fail },
    );
    this.options = config!.options;
    this.files = config!.fileNames;
    this.host = ts.createIncrementalCompilerHost(this.options);
    this.host.getCurrentDirectory = () => folder;
    const read = this.host.getSourceFile.bind(this.host);
    this.host.getSourceFile = (name, ...rest) => {
      if (!this.sources.has(name)) this.sources.set(name, read(name, ...rest));
      return this.sources.get(name);
    };
  }

  /** @param file changed file, as a path from the root of the project */
  reread(file: string): void {
    this.sources.delete(join(this.folder, file));
  }

  /** @returns the errors; if there are any, nothing is written */
  compile(): string[] {
    this.program = ts.createEmitAndSemanticDiagnosticsBuilderProgram(this.files, this.options, this.host, this.program);
    const errors = [...this.program.getSyntacticDiagnostics(), ...this.program.getSemanticDiagnostics()];
    if (errors.length === 0) this.program.emit();
    return errors.map((error) => ts.formatDiagnostic(error, this.host).trimEnd());
  }
}

function fail(error: ts.Diagnostic): never {
  throw new Error(ts.flattenDiagnosticMessageText(error.messageText, '\n'));
}
