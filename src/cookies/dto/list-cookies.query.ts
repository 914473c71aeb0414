import { EnumFilter, ListQueryOf } from '../../resource/lists/list-query.js';
import { COOKIE, type Flavor, type Size } from '../cookie.values.js';
import { FLAVOR, SIZE } from './cookie.enums.js';

export class ListCookiesQuery extends ListQueryOf(COOKIE) {
  @EnumFilter(FLAVOR, 'Only these flavors; repeat it for "or".')
  flavor?: Flavor[];

  @EnumFilter(SIZE, 'Only these sizes; repeat it for "or".')
  size?: Size[];
}
