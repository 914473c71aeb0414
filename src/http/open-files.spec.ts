import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { affordableConnections } from './open-files.js';

it('leaves descriptors to the files of the process, and warns of a lower limit', () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  expect(affordableConnections(4000, 1024)).toBe(724);
  expect(warn).toHaveBeenCalledWith(expect.stringMatching(/1024 files, .* 724 of 4000 .* to 4300, or lower MAX_CONN/));
  warn.mockClear();
  expect(affordableConnections(4000, 4300)).toBe(4000);
  expect(warn).not.toHaveBeenCalled();
  warn.mockRestore();
});
