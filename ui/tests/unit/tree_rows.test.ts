import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assemble,
  findNode,
  graft,
  heaviestPath,
  openAtFirst,
  treeOf,
  treeRows,
  wantedKey,
  type TreeColumns,
  type TreeNode,
  type TreeRow,
  type Wanted,
} from '../../model/tree_rows';

/* [name, bytes, leaked, children, children left out] */
type Sketch = [name: string, bytes: number, leaked: number, below?: Sketch[], leftOut?: number];

const NAMES = 'abcdefghijklmnop'.split('');

function answer(root: Sketch): TreeColumns<string> {
  const t = {
    names: NAMES,
    key: NAMES.map((n) => parseInt(n, 36)),
    parent: [] as number[],
    name: [] as number[],
    folded: [] as number[],
    children_left_out: [] as number[],
    bytes: [] as number[],
    leaked_bytes: [] as number[],
    peak_bytes: [] as number[],
    allocations: [] as number[],
    temporary_count: [] as number[],
  };
  const add = ([name, bytes, leaked, below = [], leftOut = 0]: Sketch, parent: number) => {
    const at = t.parent.length;
    t.parent.push(parent);
    t.name.push(NAMES.includes(name) ? NAMES.indexOf(name) : NAMES.length);
    t.folded.push(0);
    t.children_left_out.push(leftOut);
    t.bytes.push(bytes);
    t.leaked_bytes.push(leaked);
    for (const c of [t.peak_bytes, t.allocations, t.temporary_count]) c.push(0);
    for (const child of below) add(child, at);
  };
  add(root, 0);
  return t;
}

const BASE = answer([
  '',
  100,
  10,
  [
    [
      'a',
      60,
      0,
      [
        ['c', 40, 0, [['d', 40, 0]]],
        ['e', 15, 0, [], 2],
      ],
      3,
    ],
    ['b', 40, 10],
  ],
  7,
]);

const text = (rows: TreeRow<string>[]) =>
  rows.map((r) => (r.kind === 'node' ? r.path : `${r.path}:${r.kind}:${r.node.leftOut}`));
const never = () => false;
const byBytes = { cost: 'bytes', isAscending: false } as const;

test('columns become nodes that know their path', () => {
  const root = treeOf(BASE);
  assert.equal(root.path, '');
  assert.equal(root.cost.bytes, 100);
  assert.equal(findNode(root, 'a.c.d')?.frame, 'd');
  assert.equal(findNode(root, 'a.x'), null);
  assert.equal(treeOf(answer(['a', 60, 0, [['c', 40, 0]]]), 'a').children[0]?.path, 'a.c');
});

test('rows: open nodes, sorted by any cost, and what was left out', () => {
  const root = treeOf(BASE);
  assert.deepEqual(text(treeRows(root, byBytes, new Set(), never)), ['a', 'b', '*:more:7']);
  assert.deepEqual(
    text(treeRows(root, { cost: 'leaked', isAscending: false }, new Set(['a']), never)),
    ['b', 'a', 'a.c', 'a.e', 'a.*:more:3', '*:more:7'],
  );
  /* what was left out is smaller than all others */
  assert.deepEqual(text(treeRows(root, { cost: 'bytes', isAscending: true }, new Set(), never)), [
    '*:more:7',
    'b',
    'a',
  ]);
  const rows = treeRows(root, byBytes, new Set(['a', 'a.c']), never);
  assert.deepEqual(
    rows.map((r) => [r.path, r.depth, r.parent, r.position, r.siblings]),
    [
      ['a', 0, -1, 1, 3],
      ['a.c', 1, 0, 1, 3],
      ['a.c.d', 2, 1, 1, 1],
      ['a.e', 1, 0, 2, 3],
      ['a.*', 1, 0, 3, 3],
      ['b', 0, -1, 2, 3],
      ['*', 0, -1, 3, 3],
    ],
  );
});

test('a part that comes later takes its place and keeps what was known below', () => {
  const root = treeOf(BASE);
  const all = treeOf(
    answer([
      'a',
      60,
      0,
      [
        ['c', 40, 0, [], 1],
        ['e', 15, 0, [], 2],
        ['f', 4, 0],
        ['g', 1, 0],
      ],
    ]),
    'a',
  );
  const next = graft(root, all);
  assert.deepEqual(
    findNode(next, 'a')?.children.map((c) => c.path),
    ['a.c', 'a.e', 'a.f', 'a.g'],
  );
  assert.equal(findNode(next, 'a')?.leftOut, 0);
  assert.equal(findNode(next, 'a.c.d')?.cost.bytes, 40);
  assert.equal(findNode(next, 'a.c')?.leftOut, 0);
  assert.equal(next.children[1], root.children[1], 'a part that stays is the same object');
  assert.equal(graft(root, { ...all, path: 'x.y' }), root, 'no such path');
});

function assembled(open: string[], answers: Record<string, TreeColumns<string>>) {
  const { root, used, missing } = assemble(
    treeOf(BASE),
    new Set(open),
    (w: Wanted) => answers[wantedKey(w)],
  );
  return { root, used: used.map(wantedKey), missing: missing.map(wantedKey) };
}

test('an open row without its children asks for them', () => {
  assert.deepEqual(assembled(['a', 'a.c'], {}).missing, []);
  assert.deepEqual(assembled(['a', 'a.e'], {}).missing, ['a.e']);
  const part = answer(['e', 15, 0, [['h', 15, 0, [], 1]], 1]);
  const { root, missing } = assembled(['a', 'a.e', 'a.e.h'], { 'a.e': part });
  assert.equal(findNode(root, 'a.e.h')?.cost.bytes, 15);
  assert.deepEqual(missing, ['a.e.h'], 'and the next level, when the first is here');
  assert.deepEqual(assembled(['a', 'a.e', 'a.e.h'], { 'a.e': part }).used, ['a.e']);
});

test('a part that brings no child is followed by all of them', () => {
  const none = answer(['e', 15, 0, [], 2]);
  assert.deepEqual(assembled(['a', 'a.e'], { 'a.e': none }).missing, ['a.e all']);
  const all = answer([
    'e',
    15,
    0,
    [
      ['h', 8, 0],
      ['i', 7, 0],
    ],
  ]);
  const { root, missing } = assembled(['a', 'a.e'], { 'a.e': none, 'a.e all': all });
  assert.equal(findNode(root, 'a.e')?.children.length, 2);
  assert.deepEqual(missing, []);
});

test('the row "more", and an open row among what was left out, ask for all children', () => {
  assert.deepEqual(assembled(['*'], {}).missing, [' all']);
  assert.deepEqual(assembled(['a', 'a.*'], {}).missing, ['a all']);
  assert.deepEqual(assembled(['a', 'a.f', 'a.f.g'], {}).missing, ['a all']);
  assert.deepEqual(assembled(['b', 'b.f'], {}).missing, [], 'b has no such child at all');
});

test('the rows that are open at first', () => {
  const root = treeOf(BASE);
  assert.deepEqual([...openAtFirst(root, 'top_down', 'bytes')], ['a', 'a.c']);
  assert.deepEqual([...openAtFirst(root, 'bottom_up', 'bytes')], ['a', 'a.c']);
  assert.deepEqual([...openAtFirst(root, 'top_down', 'leaked')], []);
});

test('the heaviest path goes down to what is not known', () => {
  const paths = (n: TreeNode<string> | null, cost: 'bytes' | 'leaked') =>
    n ? heaviestPath(n, cost).map((x) => x.path) : [];
  const root = treeOf(BASE);
  assert.deepEqual(paths(findNode(root, 'a'), 'bytes'), ['a', 'a.c']);
  assert.deepEqual(paths(findNode(root, 'a.e'), 'bytes'), ['a.e']);
  assert.deepEqual(paths(findNode(root, 'b'), 'leaked'), []);
});

test('changes are sorted with their sign', () => {
  const root = treeOf(
    answer([
      '',
      0,
      0,
      [
        ['a', -5, 0],
        ['b', 3, 0],
        ['c', 0, 0],
      ],
    ]),
  );
  assert.deepEqual(text(treeRows(root, byBytes, new Set(), never)), ['b', 'c', 'a']);
});
