/* Small trees for the tests of the flame graph. */
import { flameTree, type FlameTree, type TreeAnswer } from '../../model/flame_tree';
import type { FrameName } from '../../model/names';

export const frame = (name: string | null, more: Partial<FrameName> = {}): FrameName => ({
  function: name,
  source: null,
  line: null,
  module: '/usr/bin/program',
  address: '0x10',
  class: 'own',
  package: 'program',
  ...more,
});

export interface Row {
  parent: number;
  name: string;
  peak: number;
  leaked?: number;
  base?: number; // peak of the base
  folded?: number;
}

/* The root comes first: { parent: 0, name: '', peak }. */
export function treeOf(
  rows: readonly Row[],
  frames: Record<string, Partial<FrameName>> = {},
): FlameTree {
  const names = [...new Set(rows.slice(1).map((r) => r.name))];
  const zeros = rows.map(() => 0);
  const peaks = rows.map((r) => r.peak);
  const leaks = rows.map((r) => r.leaked ?? 0);
  const isCompared = rows.some((r) => r.base !== undefined);
  const answer: TreeAnswer = {
    names: names.map((name) => frame(name, frames[name])),
    key: names.map((name) => [...name].reduce((h, c) => h * 31 + c.charCodeAt(0), 7)),
    parent: rows.map((r) => r.parent),
    name: rows.map((r, i) => (i ? names.indexOf(r.name) : names.length)),
    folded: rows.map((r) => r.folded ?? 0),
    bytes: peaks,
    peak_bytes: peaks,
    leaked_bytes: leaks,
    allocations: zeros,
    temporary_count: zeros,
    self_bytes: zeros,
    self_peak_bytes: zeros,
    self_leaked_bytes: zeros,
    self_allocations: zeros,
    self_temporary_count: zeros,
    left_out: 0,
    stacks: 3,
    total: {
      peak_bytes: peaks[0] ?? 0,
      leaked_bytes: leaks[0] ?? 0,
      bytes: peaks[0] ?? 0,
      allocations: 0,
      temporary_count: 0,
    },
  };
  if (isCompared) {
    const base = rows.map((r) => r.base ?? 0);
    Object.assign(answer, {
      base_bytes: base,
      base_peak_bytes: base,
      base_leaked_bytes: zeros,
      base_allocations: zeros,
      base_temporary_count: zeros,
    });
  }
  return flameTree(answer);
}

/* root 100: main 90 (a 30 (b 30), c 60 (d 20, a 25)), start 10 */
export const SAMPLE: readonly Row[] = [
  { parent: 0, name: '', peak: 100, leaked: 40 },
  { parent: 0, name: 'main', peak: 90, leaked: 40 },
  { parent: 1, name: 'a', peak: 30, leaked: 40 },
  { parent: 2, name: 'b', peak: 30, leaked: 40 },
  { parent: 1, name: 'c', peak: 60 },
  { parent: 4, name: 'd', peak: 20 },
  { parent: 4, name: 'a', peak: 25 },
  { parent: 0, name: 'start', peak: 10 },
];
