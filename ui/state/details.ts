/* The details panel: what it is about is in the address (sel=kind:key), whether it is open is not. */
import { Signal } from './signal';
import { address, set } from './router';

/* fn: a function's full name; site: number of a stack; alloc: number of an allocation; size: min-max
 * in bytes; rec: id of a recording; map: address of a mapping. */
export type SelectionKind = 'fn' | 'site' | 'alloc' | 'size' | 'rec' | 'map';

export interface Selection {
  kind: SelectionKind;
  key: string;
}

const KINDS: readonly string[] = ['fn', 'site', 'alloc', 'size', 'rec', 'map'];

export function selectionOf(params: Readonly<Record<string, string>>): Selection | null {
  const text = params['sel'] ?? '';
  const cut = text.indexOf(':');
  const kind = text.slice(0, cut);
  return cut > 0 && KINDS.includes(kind)
    ? { kind: kind as SelectionKind, key: text.slice(cut + 1) }
    : null;
}

export const isDetailsOpen = new Signal(true);

/* Somebody who follows a link to another selection wants to see it, even after closing the panel. */
let shown = address.value.params['sel'];
address.subscribe(() => {
  const next = address.value.params['sel'];
  if (next && next !== shown) isDetailsOpen.set(true);
  shown = next;
});

export const selectionText = (s: Selection): string => `${s.kind}:${s.key}`;

/* Shows something in the panel. */
export function select(s: Selection | null): void {
  if (s) isDetailsOpen.set(true);
  const text = s ? selectionText(s) : null;
  if ((address.value.params['sel'] ?? null) !== text) set({ sel: text });
}
