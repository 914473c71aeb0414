import { ProjectCommands } from '../support/project/project-commands.js';
import { addMigrationOfFolders, describeFolders, FOLDERS, referToThemselves } from './commands-of-folders.js';
import { describeOrders, ORDERS } from './commands-of-orders.js';
import { describeTickets, NOTES, TICKETS } from './commands-of-tickets.js';

/** A project with four more resources of different kinds, all written by the generator. */
describe('a project with generated resources', () => {
  const commands = new ProjectCommands();
  const { copy } = commands;

  beforeAll(async () => {
    for (const resource of [ORDERS, TICKETS, NOTES, FOLDERS]) {
      const written = await copy.node('scripts/generate.js', 'resource', ...resource.split(' '));
      expect(written).toMatchObject({ status: 0 });
    }
    referToThemselves(copy);
    addMigrationOfFolders(copy);
    copy.compile();
  });

  describeOrders(commands);
  describeTickets(commands);
  describeFolders(commands);
});
