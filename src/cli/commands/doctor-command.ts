import { Command } from 'commander';
import type { DoctorOptions } from '../doctor/doctor.js';
import { examples } from './examples.js';

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('check settings, volume, database, clock and keys: a line for each, with what to do')
    .option('--fix', 'first count the records again where a counter does not agree with them')
    .addHelpText('after', examples('doctor', 'doctor --fix'))
    .action(async (options: DoctorOptions) => {
      const { doctor } = await import('../doctor/doctor.js');
      await doctor(options);
    });
}
