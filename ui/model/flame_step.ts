/* The frame that an arrow key leads to, and how a frame is announced. Pure. */
import { MIN_PX, type Layout, type View } from './flame_layout';
import { frameOf, type FlameTree } from './flame_tree';
import { frameTitle } from './names';

/* Right is the heaviest child, left the parent, down and up the neighbours in the row; down from the
 * outermost frame, which has none, is its heaviest child. Frames that are
 * too narrow to be seen are passed over. -1: there is none. */
export function stepFrom(
  t: FlameTree,
  l: Layout,
  view: View,
  widthPx: number,
  node: number,
  key: string,
): number {
  const p = l.position[node] ?? -1;
  if (p < 0) return 0;
  const isSeen = (at: number) => {
    const from = Math.max(view.from * l.total, l.x[at] ?? 0);
    const to = Math.min(view.to * l.total, l.right[at] ?? 0);
    return ((to - from) / ((view.to - view.from) * l.total)) * widthPx >= MIN_PX;
  };
  const first = (from: number, end: number, by: number) => {
    for (let at = from; at !== end; at += by) if (isSeen(at)) return l.node[at] ?? -1;
    return -1;
  };
  const row = t.depth[node] ?? 0;
  switch (key) {
    case 'ArrowLeft':
      return p > 0 ? (t.parent[node] ?? 0) : -1;
    case 'ArrowRight':
      return first(l.firstKid[p] ?? 0, l.firstKid[p + 1] ?? 0, 1);
    case 'ArrowDown':
      if (p === 0) return first(l.firstKid[0] ?? 0, l.firstKid[1] ?? 0, 1);
      return first(p + 1, l.rowStart[row + 1] ?? 0, 1);
    case 'ArrowUp':
      return first(p - 1, (l.rowStart[row] ?? 0) - 1, -1);
    default:
      return -1;
  }
}

/* The last frame of the heaviest path below a node: always the heaviest child, as long as most of the
 * cost goes on. */
export function heaviestEnd(l: Layout, node: number): number {
  let p = Math.max(0, l.position[node] ?? 0);
  for (;;) {
    const kid = l.firstKid[p] ?? 0;
    const hasKids = kid < (l.firstKid[p + 1] ?? 0);
    const width = (at: number) => (l.right[at] ?? 0) - (l.x[at] ?? 0);
    if (!hasKids || width(kid) * 2 < width(p)) return l.node[p] ?? 0;
    p = kid;
  }
}

/* "SeenCache::remember, 2.58 GiB, 82.0 percent, 1 of 3 children"; value and share as texts. */
export function announcement(
  t: FlameTree,
  l: Layout,
  node: number,
  value: string,
  share: string,
): string {
  const frame = frameOf(t, node);
  const p = l.position[node] ?? -1;
  const parent = l.position[t.parent[node] ?? 0] ?? -1;
  const parts = [frame ? frameTitle(frame) : 'All', value, share.replace(/\s?%/, ' percent')];
  const folded = t.folded[node] ?? 0;
  if (folded) parts.push(`${folded} folded frames`);
  if (node > 0 && p >= 0 && parent >= 0) {
    const first = l.firstKid[parent] ?? 0;
    const n = (l.firstKid[parent + 1] ?? 0) - first;
    parts.push(`${p - first + 1} of ${n} ${n === 1 ? 'child' : 'children'}`);
  }
  return parts
    .filter(Boolean)
    .join(', ')
    .replace(/[\u00a0\u202f]/g, ' ');
}
