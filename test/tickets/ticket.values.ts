import { UUID_IDS } from '../../src/resource/id-kinds.js';
import { ResourceName } from '../../src/resource/resource.js';

export const TICKET = new ResourceName('ticket', 'tickets', UUID_IDS);
export const NOTE = new ResourceName('note');
