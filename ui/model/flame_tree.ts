/* The tree of calls as the flame graph holds it: the columns of the API's Tree, those that every box
 * needs in typed arrays. Pure.
 *
 * Node 0 is the root; parent[i] < i for all others, so one pass forwards visits parents before their
 * children and one pass backwards children before their parents. Children of a node are
 * child[childStart[i]] .. child[childStart[i + 1] - 1].
 *
 * A node is named by the keys of the names on its path (nodeId), not by its number: keys stay the same
 * for a recording, so a link finds its node again under another filter.
 *
 * In a comparison `cost` holds changes (this recording minus its base) and `base` the base's values.
 */
import { COSTS, type CostId, type CostValues } from './costs';
import { codeName, type FrameName } from './names';

/* The fields of the API's Tree that the flame graph needs. */
export interface TreeAnswer {
  names: readonly FrameName[];
  key: readonly number[]; // by name
  parent: readonly number[];
  name: readonly number[]; // names.length: none
  folded: readonly number[];
  bytes: readonly number[];
  leaked_bytes: readonly number[];
  peak_bytes: readonly number[];
  allocations: readonly number[];
  temporary_count: readonly number[];
  self_bytes: readonly number[];
  self_leaked_bytes: readonly number[];
  self_peak_bytes: readonly number[];
  self_allocations: readonly number[];
  self_temporary_count: readonly number[];
  base_bytes?: readonly number[];
  base_leaked_bytes?: readonly number[];
  base_peak_bytes?: readonly number[];
  base_allocations?: readonly number[];
  base_temporary_count?: readonly number[];
  left_out: number;
  stacks: number;
  total: CostValues;
}

/* By node; the answer's own columns. */
export type CostColumns = Readonly<Record<CostId, readonly number[]>>;

export interface FlameTree {
  n: number;
  names: readonly FrameName[];
  parent: Int32Array;
  name: Int32Array; // index in names; -1: the root
  depth: Int32Array; // 0: the root
  folded: Int32Array; // frames that the node stands for; 0: an ordinary node
  childStart: Int32Array;
  child: Int32Array;
  cost: CostColumns;
  self: CostColumns;
  base: CostColumns | null;
  key: readonly number[]; // by name
  leftOut: number; // nodes that the server left out because they are small
  stacks: number;
  total: CostValues;
}

type Prefix = '' | 'self_' | 'base_';

function columns(answer: TreeAnswer, prefix: Prefix): CostColumns {
  const fields = answer as unknown as Record<string, readonly number[] | undefined>;
  const column = (field: string) => fields[prefix + field] ?? [];
  return Object.fromEntries(COSTS.map((c) => [c.id, column(c.field)])) as unknown as CostColumns;
}

/* Nodes by parent, in the order of the answer. */
function childLists(parent: Int32Array): { childStart: Int32Array; child: Int32Array } {
  const n = parent.length;
  const childStart = new Int32Array(n + 1);
  for (let i = 1; i < n; i++) childStart[(parent[i] ?? 0) + 1]!++;
  for (let i = 0; i < n; i++) childStart[i + 1]! += childStart[i] ?? 0;
  const next = childStart.slice();
  const child = new Int32Array(Math.max(0, n - 1));
  for (let i = 1; i < n; i++) child[next[parent[i] ?? 0]!++] = i;
  return { childStart, child };
}

export function flameTree(answer: TreeAnswer): FlameTree {
  const n = answer.parent.length;
  const parent = new Int32Array(answer.parent);
  const name = new Int32Array(answer.name);
  for (let i = 0; i < n; i++) if ((name[i] ?? 0) >= answer.names.length) name[i] = -1;
  const depth = new Int32Array(n);
  for (let i = 1; i < n; i++) depth[i] = (depth[parent[i] ?? 0] ?? 0) + 1;
  return {
    n,
    names: answer.names,
    parent,
    name,
    depth,
    folded: new Int32Array(answer.folded),
    ...childLists(parent),
    cost: columns(answer, ''),
    self: columns(answer, 'self_'),
    base: answer.base_bytes ? columns(answer, 'base_') : null,
    key: answer.key,
    leftOut: answer.left_out,
    stacks: answer.stacks,
    total: answer.total,
  };
}

/* How wide nodes are: the cost; in a comparison what both recordings have together, so that what is
 * gone keeps its room and children never need more than their parent. */
export function widthColumn(t: FlameTree, cost: CostId): Float64Array {
  const out = new Float64Array(t.cost[cost]);
  const base = t.base?.[cost];
  if (base) for (let i = 0; i < out.length; i++) out[i]! += 2 * (base[i] ?? 0);
  return out;
}

/* The cost itself, or its change. */
export const valueColumn = (t: FlameTree, cost: CostId): Float64Array =>
  new Float64Array(t.cost[cost]);

/* ---- nodes in the address ---- */

const LIMIT = 2 ** 21; // upper bits of an id: 21 + 32 = 53 are exact in a number

/* Ids of a child from the id of its parent and the key of its name. */
function childId(parentId: number, key: number): number {
  const low = (parentId >>> 0) ^ (key >>> 0);
  const high = Math.floor(parentId / 4294967296) ^ Math.floor(key / 4294967296);
  const a = Math.imul(low ^ (low >>> 15), 0x2c1b3c6d) + Math.imul(high, 0x297a2d39);
  const b = Math.imul(a ^ (a >>> 13), 0x85ebca6b) + Math.imul(high ^ low, 0x9e3779b1);
  const mixed = (b ^ (b >>> 16)) >>> 0;
  return ((a >>> 0) % LIMIT) * 4294967296 + mixed;
}

const keyOf = (t: FlameTree, node: number): number => t.key[t.name[node] ?? 0] ?? 0;

/* Ids that this page gave out itself: looking these up needs no others. */
const given = new WeakMap<FlameTree, Map<string, number>>();

/* The name of a node in the address. */
export function nodeId(t: FlameTree, node: number): string {
  const id = pathOf(t, node)
    .slice(1)
    .reduce((above, at) => childId(above, keyOf(t, at)), 0)
    .toString(36);
  const known = given.get(t) ?? new Map<string, number>();
  given.set(t, known.set(id, node));
  return id;
}

const idsOf = new WeakMap<FlameTree, Float64Array>();

/* The ids of all nodes: made when an address names one. */
function allIds(t: FlameTree): Float64Array {
  let ids = idsOf.get(t);
  if (!ids) {
    ids = new Float64Array(t.n);
    for (let i = 1; i < t.n; i++) ids[i] = childId(ids[t.parent[i] ?? 0] ?? 0, keyOf(t, i));
    idsOf.set(t, ids);
  }
  return ids;
}

/* The node that an address names; 0, the root, when this tree has no such node. */
export function findNode(t: FlameTree, id: string | undefined): number {
  if (!id || !/^[0-9a-z]+$/.test(id)) return 0;
  return given.get(t)?.get(id) ?? Math.max(0, allIds(t).indexOf(parseInt(id, 36)));
}

/* From the root to the node, both included. */
export function pathOf(t: FlameTree, node: number): number[] {
  const path = [node];
  for (let at = node; at > 0;) path.push((at = t.parent[at] ?? 0));
  return path.reverse();
}

export const frameOf = (t: FlameTree, node: number): FrameName | null =>
  t.names[t.name[node] ?? -1] ?? null;

/* The node of a function that costs most; -1: the function is not in this tree. */
export function heaviestOf(t: FlameTree, functionName: string, width: Float64Array): number {
  const isIt = t.names.map((f) => codeName(f) === functionName);
  let best = -1;
  for (let i = 1; i < t.n; i++)
    if (isIt[t.name[i] ?? -1] && (best < 0 || (width[i] ?? 0) > (width[best] ?? 0))) best = i;
  return best;
}

/* The five costs of a node. */
export function costsOf(t: FlameTree, node: number): CostValues {
  const values = COSTS.map((c) => [c.field, t.cost[c.id][node] ?? 0] as const);
  return Object.fromEntries(values) as unknown as CostValues;
}
