import { UUID_IDS } from '../../src/resource/id-kinds.js';
import { ResourceName } from '../../src/resource/resource.js';

export const PERMIT = new ResourceName('permit', 'permits', UUID_IDS);
export const REMARK = new ResourceName('remark');
