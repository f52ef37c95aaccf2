/* The rows of a tree table: nodes from the API's columns, parts that came later, what is open. Pure.
 *
 * The first answer is cut: nodes with less than a share of every cost are not in it, but each node knows
 * how many of its children were left out. What is missing is asked for when somebody opens a row
 * (`wantedBranches`) and put in its place (`graft`). Nodes are never changed, only replaced, so that a part
 * that stays is the same object.
 *
 * What was left out is smaller in every cost than what is there: sorted by any cost, largest first, the
 * row "more" is at the right place at the end, and in ascending order at the start.
 */
import { costOf, type CostId, type CostValues } from './costs';
import { childPath, keyText, MORE_KEY, parentPath, pathAndParents } from './tree_open';

/* The API's Tree: the columns that a table needs. F: the API's FrameText. */
export interface TreeColumns<F> {
  names: readonly F[];
  key: readonly number[]; // by name
  parent: readonly number[];
  name: readonly number[]; // the number of names: none
  folded: readonly number[];
  children_left_out: readonly number[];
  bytes: readonly number[];
  leaked_bytes: readonly number[];
  peak_bytes: readonly number[];
  allocations: readonly number[];
  temporary_count: readonly number[];
}

export interface TreeNode<F> {
  path: string; // model/tree_open.ts; '' for the root
  frame: F | null; // null: the root
  folded: number; // 0, or the number of frames that this node stands for
  cost: CostValues;
  children: readonly TreeNode<F>[];
  leftOut: number; // children that are not in `children`
}

/* The nodes of an answer; `path` is that of its node 0. */
export function treeOf<F>(t: TreeColumns<F>, path = ''): TreeNode<F> {
  const children: TreeNode<F>[][] = t.parent.map(() => []);
  const nodes: TreeNode<F>[] = [];
  for (let i = 0; i < t.parent.length; i++) {
    const name = t.name[i] ?? t.names.length;
    const above = t.parent[i] ?? 0;
    const node: TreeNode<F> = {
      path: i === 0 ? path : childPath(nodes[above]?.path ?? path, keyText(t.key[name] ?? 0)),
      frame: t.names[name] ?? null,
      folded: t.folded[i] ?? 0,
      cost: costAt(t, i),
      children: children[i] ?? [],
      leftOut: t.children_left_out[i] ?? 0,
    };
    nodes.push(node);
    if (i > 0) children[above]?.push(node);
  }
  return nodes[0] ?? EMPTY_TREE;
}

const EMPTY_TREE = {
  path: '',
  frame: null,
  folded: 0,
  cost: { peak_bytes: 0, leaked_bytes: 0, allocations: 0, temporary_count: 0, bytes: 0 },
  children: [],
  leftOut: 0,
};

function costAt<F>(t: TreeColumns<F>, i: number): CostValues {
  return {
    peak_bytes: t.peak_bytes[i] ?? 0,
    leaked_bytes: t.leaked_bytes[i] ?? 0,
    allocations: t.allocations[i] ?? 0,
    temporary_count: t.temporary_count[i] ?? 0,
    bytes: t.bytes[i] ?? 0,
  };
}

export const hasChildren = <F>(n: TreeNode<F>): boolean => n.children.length > 0 || n.leftOut > 0;

/* The node has children, but not one of them is here. */
export const isUnknown = <F>(n: TreeNode<F>): boolean => n.children.length === 0 && n.leftOut > 0;

export function findNode<F>(root: TreeNode<F>, path: string): TreeNode<F> | null {
  let at: TreeNode<F> | undefined = root;
  for (const step of pathAndParents(path)) {
    at = at?.children.find((c) => c.path === step);
  }
  return at ?? null;
}

/* The tree with the node of a later answer in its place. A path that the tree does not have (any more)
 * changes nothing. */
export function graft<F>(root: TreeNode<F>, branch: TreeNode<F>): TreeNode<F> {
  if (branch.path === root.path) return merged(root, branch);
  const i = root.children.findIndex(
    (c) => branch.path === c.path || branch.path.startsWith(c.path + '.'),
  );
  const child = root.children[i];
  if (!child) return root;
  const next = graft(child, branch);
  if (next === child) return root;
  return { ...root, children: root.children.map((c, k) => (k === i ? next : c)) };
}

/* The later answer knows more children of this node, the earlier one may know more below them. */
function merged<F>(before: TreeNode<F>, after: TreeNode<F>): TreeNode<F> {
  const known = new Map(before.children.map((c) => [c.path, c]));
  const children = after.children.map((c) => {
    const old = known.get(c.path);
    known.delete(c.path);
    return old ? merged(old, c) : c;
  });
  const leftOut = after.leftOut - known.size;
  return { ...before, children: [...children, ...known.values()], leftOut: Math.max(0, leftOut) };
}

/* ---- what has to be asked for ---- */

/* A part of the tree that comes later. */
export interface Wanted {
  path: string;
  isAll: boolean; // every child; false: those that matter, and what is below them
}

export const wantedKey = (w: Wanted): string => (w.isAll ? `${w.path} all` : w.path);

/* What open rows show and the tree does not have. */
function wantedBranches<F>(
  root: TreeNode<F>,
  open: ReadonlySet<string>,
  isHere: (w: Wanted) => boolean,
): Wanted[] {
  const wanted = new Map<string, Wanted>();
  const want = (w: Wanted) => {
    if (!isHere(w)) wanted.set(wantedKey(w), w);
  };
  for (const path of open) {
    const above = findNode(root, parentPath(path));
    if (!above) continue; // the part with its parent comes first
    const node = findNode(root, path);
    if (!node) {
      if (above.leftOut > 0) want({ path: above.path, isAll: true });
    } else if (isUnknown(node)) {
      /* where each child is a small share of its parent, the first part brings none of them */
      want({ path, isAll: isHere({ path, isAll: false }) });
    }
  }
  return [...wanted.values()];
}

/* The tree with all parts that are here (`answerOf`) and that open rows need; which parts those are, and
 * which ones are missing. */
export function assemble<F>(
  base: TreeNode<F>,
  open: ReadonlySet<string>,
  answerOf: (w: Wanted) => TreeColumns<F> | undefined,
): { root: TreeNode<F>; used: Wanted[]; missing: Wanted[] } {
  const used = new Map<string, Wanted>();
  const isUsed = (w: Wanted) => used.has(wantedKey(w));
  let root = base;
  for (;;) {
    const wanted = wantedBranches(root, open, isUsed);
    const here = wanted.filter((w) => answerOf(w) !== undefined);
    if (here.length === 0) return { root, used: [...used.values()], missing: wanted };
    for (const w of here) {
      const answer = answerOf(w);
      used.set(wantedKey(w), w);
      if (answer) root = graft(root, treeOf(answer, w.path));
    }
  }
}

/* ---- rows ---- */

export interface Order {
  cost: CostId;
  isAscending: boolean;
}

interface Base {
  path: string;
  depth: number; // 0: below the root
  parent: number; // row of the parent; -1: the root
  position: number; // among its siblings, from 1
  siblings: number; // how many there are
}
export interface NodeRow<F> extends Base {
  kind: 'node';
  node: TreeNode<F>;
  isOpen: boolean;
}
/* Stands for the children that are not here: to be asked for (more), or on their way (wait). */
interface MissingRow<F, K extends string> extends Base {
  kind: K;
  node: TreeNode<F>; // whose children they are
}
export type TreeRow<F> = NodeRow<F> | MissingRow<F, 'more'> | MissingRow<F, 'wait'>;

/* All rows, from top to bottom. `isAwaited`: children of this node are on their way. */
export function treeRows<F>(
  root: TreeNode<F>,
  order: Order,
  open: ReadonlySet<string>,
  isAwaited: (path: string) => boolean,
): TreeRow<F>[] {
  const rows: TreeRow<F>[] = [];
  const addMore = (node: TreeNode<F>, depth: number, parent: number) => {
    const siblings = node.children.length + 1;
    rows.push({
      kind: isAwaited(node.path) ? 'wait' : 'more',
      path: childPath(node.path, MORE_KEY),
      node,
      depth,
      parent,
      position: order.isAscending ? 1 : siblings,
      siblings,
    });
  };
  const add = (above: TreeNode<F>, depth: number, parent: number) => {
    const hasMore = above.leftOut > 0;
    const siblings = above.children.length + (hasMore ? 1 : 0);
    const before = hasMore && order.isAscending ? 1 : 0;
    if (before) addMore(above, depth, parent);
    sortedNodes(above.children, order).forEach((node, i) => {
      const isOpen = hasChildren(node) && open.has(node.path);
      const position = i + 1 + before;
      const row = rows.length;
      rows.push({
        kind: 'node',
        path: node.path,
        node,
        depth,
        parent,
        isOpen,
        position,
        siblings,
      });
      if (isOpen) add(node, depth + 1, row);
    });
    if (hasMore && !before) addMore(above, depth, parent);
  };
  add(root, 0, -1);
  return rows;
}

export function sortedNodes<F>(nodes: readonly TreeNode<F>[], order: Order): TreeNode<F>[] {
  const sign = order.isAscending ? 1 : -1;
  /* equal in this cost: the one that allocated more bytes, as the server orders them */
  return [...nodes].sort(
    (a, b) =>
      sign * (costOf(a.cost, order.cost) - costOf(b.cost, order.cost)) ||
      b.cost.bytes - a.cost.bytes,
  );
}

/* ---- what is open where nobody said it ---- */

/* Callers: the heaviest rows show who calls them. Callees: down to where the cost divides. */
const OPEN_AT_FIRST = {
  bottom_up: { share: 0.25, depth: 2 },
  top_down: { share: 0.15, depth: 8 },
} as const;
export type Direction = keyof typeof OPEN_AT_FIRST;

export function openAtFirst<F>(
  root: TreeNode<F>,
  direction: Direction,
  cost: CostId,
): ReadonlySet<string> {
  const { share, depth: deepest } = OPEN_AT_FIRST[direction];
  const least = share * Math.abs(costOf(root.cost, cost));
  const open = new Set<string>();
  const visit = (node: TreeNode<F>, depth: number) => {
    for (const child of depth < deepest ? node.children : []) {
      if (!hasChildren(child) || Math.abs(costOf(child.cost, cost)) <= least) continue;
      open.add(child.path);
      visit(child, depth + 1);
    }
  };
  visit(root, 0);
  return open;
}

/* The rows that have to be open so that the heaviest path below a node is seen: the node, its heaviest
 * child, and so on to the end of what is known. */
export function heaviestPath<F>(node: TreeNode<F>, cost: CostId): TreeNode<F>[] {
  const path: TreeNode<F>[] = [];
  let at: TreeNode<F> | undefined = node;
  while (at && hasChildren(at)) {
    path.push(at);
    at = sortedNodes(at.children, { cost, isAscending: false })[0];
  }
  return path;
}

/* The largest change of any row below the root, for bars of a comparison. */
export function largestChange<F>(root: TreeNode<F>, cost: CostId): number {
  return root.children.reduce((most, c) => Math.max(most, Math.abs(costOf(c.cost, cost))), 0);
}
