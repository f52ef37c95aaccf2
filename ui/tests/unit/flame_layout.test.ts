import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  between,
  clampView,
  eachVisible,
  ease,
  hitTest,
  layOut,
  pannedView,
  parseView,
  viewOf,
  viewText,
  WHOLE,
  zoomedView,
  type Layout,
  type View,
} from '../../model/flame_layout';
import { findNode, nodeId, pathOf, widthColumn } from '../../model/flame_tree';
import { SAMPLE, treeOf } from './flame_fixture';

const tree = treeOf(SAMPLE);
const layout = layOut(tree, widthColumn(tree, 'peak'));
const boxes = (l: Layout) => Array.from({ length: l.n }, (_, p) => [l.node[p], l.x[p], l.right[p]]);

function visible(l: Layout, v: View, width: number, rows: [number, number] = [0, 99]) {
  const boxes: number[] = [];
  const crowds: [number, number, number][] = [];
  eachVisible(l, v, width, rows, {
    box: (p) => boxes.push(l.node[p] ?? -1),
    crowd: (row, left, right) => crowds.push([row, left, right]),
  });
  return { boxes, crowds };
}

test('rows from the top, heaviest child left', () => {
  assert.deepEqual(boxes(layout), [
    [0, 0, 100],
    [1, 0, 90],
    [7, 90, 100],
    [4, 0, 60],
    [2, 60, 90],
    [6, 0, 25],
    [5, 25, 45],
    [3, 60, 90],
  ]);
  assert.deepEqual([...layout.rowStart], [0, 1, 3, 5, 8]);
  assert.deepEqual([...layout.deepest].slice(0, 4), [3, 3, 1, 3]);
});

test('nodes without the cost have no box', () => {
  const leaked = layOut(tree, widthColumn(tree, 'leaked'));
  assert.deepEqual(
    boxes(leaked).map(([node]) => node),
    [0, 1, 2, 3],
  );
  assert.equal(leaked.position[4], -1);
  assert.equal(layOut(tree, widthColumn(tree, 'temp')).n, 0);
});

test('equal children keep the order of the tree, few or many', () => {
  for (const n of [5, 60]) {
    const rows = [{ parent: 0, name: '', peak: n * 2 + 3 }];
    for (let i = 0; i < n; i++) rows.push({ parent: 0, name: `f${i}`, peak: 2 });
    rows.push({ parent: 0, name: 'heavy', peak: 3 });
    const t = treeOf(rows);
    const l = layOut(t, widthColumn(t, 'peak'));
    const order = [...l.node.subarray(1)];
    assert.deepEqual(order, [n + 1, ...Array.from({ length: n }, (_, i) => i + 1)]);
  }
});

test('a point hits the box of its row, gaps hit nothing', () => {
  const at = (px: number, row: number, v = WHOLE) => {
    const p = hitTest(layout, v, 1000, px, row);
    return p < 0 ? -1 : layout.node[p];
  };
  assert.equal(at(0, 0), 0);
  assert.equal(at(899, 1), 1);
  assert.equal(at(900, 1), 7);
  assert.equal(at(599.9, 2), 4);
  assert.equal(at(600, 2), 2);
  assert.equal(at(500, 3), -1); // between d and b
  assert.equal(at(950, 2), -1);
  assert.equal(at(10, 4), -1);
  assert.equal(at(-1, 0), -1);
  assert.equal(at(1000, 0), -1);
  assert.equal(at(500, 3, viewOf(layout, layout.position[2] ?? 0)), 3);
});

test('only what is on screen is visited', () => {
  assert.deepEqual(visible(layout, WHOLE, 1000).boxes, [0, 1, 7, 4, 2, 6, 5, 3]);
  assert.deepEqual(visible(layout, WHOLE, 1000, [2, 2]).boxes, [4, 2]);
  const zoomed = viewOf(layout, layout.position[2] ?? 0);
  assert.deepEqual(visible(layout, zoomed, 1000).boxes, [0, 1, 2, 3]);
});

test('boxes below half a pixel become one crowd', () => {
  const rows = [
    { parent: 0, name: '', peak: 1000 },
    { parent: 0, name: 'wide', peak: 500 },
  ];
  for (let i = 0; i < 500; i++) rows.push({ parent: 0, name: `n${i}`, peak: 1 });
  const t = treeOf(rows);
  const l = layOut(t, widthColumn(t, 'peak'));
  assert.deepEqual(visible(l, WHOLE, 400), { boxes: [0, 1], crowds: [[1, 200, 400]] });
  assert.equal(visible(l, WHOLE, 500).boxes.length, 502);
  /* zoomed in, the same boxes are wide enough */
  assert.equal(visible(l, { from: 0.5, to: 0.6 }, 400).boxes.length, 101);
});

test('views stay inside, zoom keeps its point', () => {
  assert.deepEqual(clampView({ from: -1, to: 0.5 }), WHOLE);
  assert.deepEqual(clampView({ from: 0.75, to: 1.25 }), { from: 0.5, to: 1 });
  const v = zoomedView({ from: 0.2, to: 0.6 }, 0.25, 0.5);
  assert.ok(Math.abs(v.from + 0.25 * (v.to - v.from) - 0.3) < 1e-12);
  assert.ok(Math.abs(v.to - v.from - 0.2) < 1e-12);
  assert.deepEqual(pannedView({ from: 0.5, to: 1 }, 1), { from: 0.5, to: 1 });
  assert.deepEqual(pannedView({ from: 0.5, to: 0.75 }, -1), { from: 0.25, to: 0.5 });
});

test('views survive the address', () => {
  for (const v of [
    { from: 0.25, to: 0.5 },
    { from: 1e-8, to: 3e-7 },
    { from: 0.123456789, to: 1 },
  ]) {
    const read = parseView(viewText(v));
    assert.ok(read && Math.abs(read.from - v.from) < 1e-9 && Math.abs(read.to - v.to) < 1e-9);
  }
  assert.equal(viewText(WHOLE), '');
  for (const bad of [undefined, '', 'x', '0.5-0.25', '0-2', '1', '--', '0.1-']) {
    assert.equal(parseView(bad), null, bad);
  }
});

test('the motion begins and ends where it should, and never goes back', () => {
  assert.equal(ease(0), 0);
  assert.equal(ease(1), 1);
  let last = 0;
  for (let t = 0; t <= 1; t += 0.01) {
    assert.ok(ease(t) >= last - 1e-9);
    last = ease(t);
  }
  assert.ok(Math.abs(ease(0.5) - 0.9) < 0.03); // steep at the start
  assert.deepEqual(between(WHOLE, { from: 0.5, to: 0.6 }, 1), { from: 0.5, to: 0.6 });
});

test('a node is found again by its path, whatever the order of the answer', () => {
  const again = treeOf(SAMPLE); // knows no id yet
  for (let i = 0; i < tree.n; i++) assert.equal(findNode(again, nodeId(tree, i)), i);
  for (let i = 0; i < tree.n; i++) assert.equal(findNode(tree, nodeId(tree, i)), i);
  const turned = treeOf([SAMPLE[0]!, SAMPLE[7]!, SAMPLE[1]!, { parent: 2, name: 'c', peak: 60 }]);
  assert.equal(findNode(turned, nodeId(tree, 4)), 3);
  assert.equal(findNode(turned, nodeId(tree, 3)), 0); // not there: the root
  assert.equal(findNode(tree, 'Not an id'), 0);
  assert.deepEqual(pathOf(tree, 3), [0, 1, 2, 3]);
});

test('ids of a large tree are all different', () => {
  const rows = [{ parent: 0, name: '', peak: 1 }];
  for (let i = 1; i < 40_000; i++)
    rows.push({ parent: (i - 1) >> 2, name: 'nesw'[(i - 1) & 3] ?? '', peak: 1 });
  const t = treeOf(rows);
  const ids = new Set(Array.from({ length: t.n }, (_, i) => nodeId(t, i)));
  assert.equal(ids.size, t.n);
});

test('in a comparison a box is as wide as both recordings together', () => {
  const t = treeOf([
    { parent: 0, name: '', peak: 5, base: 30 },
    { parent: 0, name: 'grew', peak: 15, base: 20 },
    { parent: 0, name: 'gone', peak: -10, base: 10 },
  ]);
  assert.deepEqual([...widthColumn(t, 'peak')], [65, 55, 10]);
});
