import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LABEL_PX, placeLabels, stack, standsAbove } from '../../model/chart';
import {
  dragged,
  freeBox,
  gripAt,
  interpolated,
  runningSum,
  sampleAge,
  valueAt,
  zoomView,
} from '../../model/strip';
import { timeLabel, timeTicks, valueLabel, valueTicks } from '../../model/ticks';

test('layers are sums from the lowest up', () => {
  const layers = stack([
    [1, 2],
    [10, 20],
  ]).map((l) => [...l]);
  assert.deepEqual(layers, [
    [1, 2],
    [11, 22],
  ]);
});

test('labels do not overlap and stay inside', () => {
  const labels = [5, 6, 7, 200].map((y) => ({ y }));
  placeLabels(labels, 0, 100);
  for (let i = 1; i < labels.length; i++)
    assert.ok((labels[i]?.y ?? 0) - (labels[i - 1]?.y ?? 0) >= LABEL_PX - 1e-9);
  assert.ok((labels[3]?.y ?? 0) <= 100 && (labels[0]?.y ?? 0) >= 0);
});

test('ticks are round and reach the greatest value', () => {
  for (const max of [1, 7, 1000, 12_345, 3e9]) {
    for (const unit of ['bytes', 'count'] as const) {
      const ticks = valueTicks(max, unit, 4);
      assert.ok((ticks[ticks.length - 1] ?? 0) >= max, `${max} ${unit}: ${ticks.join()}`);
      assert.ok(ticks.length <= 8, `${max} ${unit}: ${ticks.length} ticks`);
    }
  }
  assert.equal(valueLabel(2 * 1024 ** 3, 'bytes'), '2\u00a0GiB');
  assert.equal(valueLabel(1.5 * 1024 ** 3, 'bytes'), '1.5\u00a0GiB');
  assert.equal(valueLabel(0, 'bytes'), '0');
});

test('time ticks fit the run', () => {
  const { at, stepNs } = timeTicks(0, 22342e9, 10);
  assert.equal(stepNs, 3600e9);
  assert.equal(timeLabel(at[1] ?? 0, stepNs, 22342e9), '01:00');
  assert.equal(timeLabel(0.4e9, 0.2e9, 2e9), '0.4\u00a0s');
  assert.equal(timeLabel(2e6, 1e6, 10e6), '2\u00a0ms');
});

test('a drag makes, moves and resizes a range', () => {
  const view = { fromNs: 0, toNs: 1000 };
  const range = { fromNs: 200, toNs: 600 };
  assert.equal(gripAt(range, view, 20, 100), 'start');
  assert.equal(gripAt(range, view, 60, 100), 'end');
  assert.equal(gripAt(range, view, 40, 100), 'middle');
  assert.equal(gripAt(range, view, 90, 100), 'new');
  assert.deepEqual(dragged('new', range, 900, 700, 1000), { fromNs: 700, toNs: 900 });
  assert.deepEqual(dragged('start', range, 200, 100, 1000), { fromNs: 100, toNs: 600 });
  assert.deepEqual(dragged('start', range, 200, 900, 1000), { fromNs: 600, toNs: 900 });
  assert.deepEqual(dragged('middle', range, 400, 1000, 1000), { fromNs: 600, toNs: 1000 });
});

test('zooming keeps the moment under the pointer and stays inside the run', () => {
  const zoomed = zoomView({ fromNs: 0, toNs: 1e9 }, 250e6, 0.5, 1e9);
  assert.deepEqual(zoomed, { fromNs: 125e6, toNs: 625e6 });
  assert.deepEqual(zoomView(zoomed, 250e6, 10, 1e9), { fromNs: 0, toNs: 1e9 });
});

test('sums and samples', () => {
  assert.deepEqual(runningSum([1, 2, 3], 10), [11, 13, 16]);
  assert.equal(valueAt([10, 20], [1, 2], 15), 1);
  assert.equal(valueAt([10, 20], [1, 2], 25), 2);
  assert.equal(valueAt([10, 20], [1, 2], 5), 1);
  assert.equal(valueAt([], [], 5), null);
});

test('a sample of another moment says how far away it is', () => {
  assert.equal(sampleAge([100, 200], 269, 300), 69);
  assert.equal(sampleAge([100, 200], 60, 300), -40);
  assert.equal(sampleAge([100, 200], 203, 300), 0);
  assert.equal(sampleAge([], 203, 300), 0);
});

test('a peak between two points stands above the areas, a rounding does not', () => {
  const series = [{ values: [10, 20, 30] }, { values: [1, 2, 3] }];
  assert.equal(standsAbove([11, 22, 34], series), false);
  assert.equal(standsAbove([11, 90, 33], series), true);
  assert.equal(standsAbove([], []), false);
});

test('the word at the peak goes where no curve passes', () => {
  const box = (left: number, top: number) => ({ left, top, width: 40, height: 12 });
  const [above, below] = [box(0, 10), box(0, 40)];
  assert.equal(freeBox([above, below], [() => 16]), below);
  assert.equal(freeBox([above, below], [() => 46]), above);
  /* a curve that is not there does not matter; of two bad places the better one is taken */
  assert.equal(freeBox([above, below], [() => null]), above);
  assert.equal(freeBox([above, below], [() => 16, (x) => (x > 30 ? 46 : 100)]), below);
  assert.equal(freeBox([], []), null);
});

test('a value between two samples lies on the line between them', () => {
  assert.equal(interpolated([10, 20], [100, 200], 15), 150);
  assert.equal(interpolated([10, 20], [100, 200], 5), 100);
  assert.equal(interpolated([10, 20], [100, 200], 99), 200);
  assert.equal(interpolated([], [], 5), null);
});
