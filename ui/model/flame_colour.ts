/* Colours of a flame graph, as names of tokens. Pure.
 *
 * A colour is an index into a palette. By owner and by package it belongs to the function, in a
 * comparison to the node.
 */
import { codeName, type FrameName, ownerOf } from './names';
import type { FlameTree } from './flame_tree';

export type Colouring = 'owner' | 'package' | 'change';

/* `token` mixed into `from`; strength 1 is the token itself. */
export interface Colour {
  token: string;
  from?: string;
  strength?: number;
}

export interface Colours {
  palette: readonly Colour[];
  byNode: Uint8Array;
}

const OWNERS = ['own', 'dep', 'nat', 'run'] as const;
const STEPS = 3; // of each owner, so that neighbours differ
export const PACKAGES = 7; // that have a colour of their own; the eighth is everybody else's
const STRENGTHS = 6; // of less and of more, each

/* FNV-1a: which of the three steps a function has. */
export function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}

const OWNER_PALETTE: readonly Colour[] = OWNERS.flatMap((owner) =>
  Array.from({ length: STEPS }, (_, i) => ({ token: `--${owner}-${i + 1}` })),
);
export const packageToken = (slot: number): string => `--q${slot + 1}`;
const PACKAGE_PALETTE: readonly Colour[] = Array.from({ length: PACKAGES + 1 }, (_, i) => ({
  token: packageToken(i),
}));
export const LESS_TOKEN = '--q1';
export const MORE_TOKEN = '--q2';
const SAME_TOKEN = '--run-2';
/* 0: no change; 1..STRENGTHS: more; then less */
const CHANGE_PALETTE: readonly Colour[] = [
  { token: SAME_TOKEN },
  ...[MORE_TOKEN, LESS_TOKEN].flatMap((token) =>
    Array.from({ length: STRENGTHS }, (_, i) => ({
      token,
      from: SAME_TOKEN,
      strength: (i + 1) / STRENGTHS,
    })),
  ),
];

const ownerColour = (f: FrameName): number =>
  OWNERS.indexOf(ownerOf(f.class)) * STEPS + (hash(codeName(f)) % STEPS);

function byName(t: FlameTree, palette: readonly Colour[], of: (f: FrameName) => number): Colours {
  const names = t.names.map(of);
  const byNode = new Uint8Array(t.n);
  const root = palette === OWNER_PALETTE ? palette.length - STEPS : palette.length - 1;
  for (let i = 0; i < t.n; i++) byNode[i] = names[t.name[i] ?? -1] ?? root;
  return { palette, byNode };
}

/* `slots`: the packages that have a colour, in the order of the palette. */
export function coloursOf(
  t: FlameTree,
  by: Colouring,
  change: Float64Array,
  slots: readonly string[],
): Colours {
  if (by === 'change') return { palette: CHANGE_PALETTE, byNode: changeColours(change) };
  if (by === 'owner') return byName(t, OWNER_PALETTE, ownerColour);
  const slotOf = new Map(slots.map((name, i) => [name, i]));
  const slot = (f: FrameName) =>
    ownerOf(f.class) === 'run' ? undefined : slotOf.get(f.package ?? '');
  return byName(t, PACKAGE_PALETTE, (f) => slot(f) ?? PACKAGES);
}

/* The strength of a change is its share of the largest change. */
export function changeColours(change: Float64Array): Uint8Array {
  let most = 0;
  for (const v of change) most = Math.max(most, Math.abs(v));
  return Uint8Array.from(change, (v) => {
    if (!v) return 0;
    const strength = Math.max(1, Math.ceil((Math.abs(v) / most) * STRENGTHS));
    return v > 0 ? strength : STRENGTHS + strength;
  });
}

/* Packages by cost, heaviest first; runtime frames have none. A package below itself counts once. */
export function rankPackages(t: FlameTree, width: Float64Array): string[] {
  const sums = new Map<string, number>();
  const packageOf = t.names.map((f) => (ownerOf(f.class) === 'run' ? '' : (f.package ?? '')));
  for (let i = 1; i < t.n; i++) {
    const name = packageOf[t.name[i] ?? -1] ?? '';
    if (!name || packageOf[t.name[t.parent[i] ?? 0] ?? -1] === name) continue;
    sums.set(name, (sums.get(name) ?? 0) + (width[i] ?? 0));
  }
  return [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
}

/* Who has which colour: packages that had one keep it while they are among the heaviest. */
export function assignPackages(before: readonly string[], ranked: readonly string[]): string[] {
  const top = ranked.slice(0, PACKAGES);
  const fresh = top.filter((name) => !before.includes(name));
  const slots = Array.from({ length: top.length }, (_, i) => {
    const old = before[i];
    return old !== undefined && top.includes(old) ? old : '';
  });
  const homeless = before.slice(top.length).filter((name) => top.includes(name));
  const waiting = [...homeless, ...fresh];
  return slots.map((name) => name || (waiting.shift() ?? ''));
}
