import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../../src/config/config.js';
import { type Outcome, run } from '../command.js';
import { createDatabase } from '../engine.js';
import { temporaryFolder } from '../service.js';
import { ProjectCopy } from './project-copy.js';

/** A copy of the project, and its built command line on separate databases. */
export class ProjectCommands {
  readonly copy = new ProjectCopy();
  readonly folder = temporaryFolder();
  database: Environment = {};
  private databases = 0;

  readonly useEmptyDatabase = async (engine: string): Promise<void> => {
    const name = `project_${process.pid}_${++this.databases}`;
    const url = engine === 'sqlite' ? `sqlite:${join(this.folder, name)}` : await createDatabase(name);
    this.database = { DATABASE_URL: url };
  };

  readonly run = (command: string, input?: string, environment?: Environment): Promise<Outcome> =>
    run(this.folder, command.split(' '), {
      ...{ input, project: this.copy.folder },
      environment: { ...this.database, ...environment },
    });

  /** Runs a command and expects success. */
  readonly done = async (command: string, input?: string): Promise<Outcome> => {
    const outcome = await this.run(command, input);
    expect({ command, ...outcome }).toMatchObject({ code: 0 });
    return outcome;
  };

  /** Writes the file `in.ndjson` and returns its name. */
  readonly file = (text: string): string => {
    writeFileSync(join(this.folder, 'in.ndjson'), text);
    return 'in.ndjson';
  };
}
