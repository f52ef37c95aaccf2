/* The address bar as state: reading it, changing it, links to other states. */
import { isExported } from '../api/client';
import { Signal, useSignal } from './signal';
import {
  costOfAddress,
  formatAddress,
  onPage,
  parseAddress,
  withParams,
  type Address,
  type PageId,
} from '../model/address';
import type { CostId } from '../model/costs';
import { EXPORTED_PAGES } from '../model/exported_questions';
import { NO_FILTER } from '../model/filters';

/* An exported page has the answers for one whole recording: there is no base, no filter, no moment. */
const NOT_EXPORTED = { ...NO_FILTER, base: null, at: null, moment: null };
const answered = (a: Address): Address =>
  isExported ? { ...a, params: withParams(a.params, NOT_EXPORTED) } : a;

const read = (hash: string): Address => answered(parseAddress(hash));

/* Can a link lead to the page? */
export const hasPage = (page: PageId): boolean => !isExported || EXPORTED_PAGES.includes(page);

export const address = new Signal<Address>(read(location.hash));

/* The hash that `address` was read from. The browser reports a new hash some time after the change, and
 * a key that is pressed in between must act on the new address: so each change sets `address` at once,
 * and the report counts only if it brings a hash that is not known yet (back, a link, the address bar). */
let knownHash = location.hash;

function show(): void {
  if (location.hash === knownHash) return;
  knownHash = location.hash;
  address.set(read(knownHash));
}
addEventListener('hashchange', show);

export const useAddress = (): Address => useSignal(address);
export const useCost = (): CostId => costOfAddress(useAddress());

type Changes = Record<string, string | null>;

/* A step that "back" undoes. */
export function go(next: Address): void {
  const hash = formatAddress(next);
  if (hash === location.hash) return;
  location.hash = hash;
  show();
}

/* The same place, described anew: while somebody types or drags. */
export function replace(next: Address): void {
  const hash = formatAddress(next);
  if (hash === location.hash) return;
  history.replaceState(history.state, '', hash);
  show();
}

/* Changes parameters on this page. null or '' removes one. */
export const set = (changes: Changes): void => {
  const a = address.value;
  go({ ...a, params: withParams(a.params, changes) });
};
export const setQuietly = (changes: Changes): void => {
  const a = address.value;
  replace({ ...a, params: withParams(a.params, changes) });
};

export const goPage = (page: PageId, changes: Changes = {}): void =>
  go(onPage(address.value, page, changes));

/* For the href of a link: the state it leads to. */
export const hrefPage = (a: Address, page: PageId, changes: Changes = {}): string =>
  formatAddress(answered(onPage(a, page, changes)));
export const hrefWith = (a: Address, changes: Changes): string =>
  formatAddress({ ...a, params: withParams(a.params, changes) });
