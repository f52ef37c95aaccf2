import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bucketsIn,
  cutToFilter,
  greatest,
  lifetimeClasses,
  parseRange,
  rangeKey,
  rangeWords,
  sizeLabel,
  valueScale,
  withoutRange,
} from '../../model/histogram';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
const BUCKETS = [
  { min: 3, max: 4 },
  { min: 5, max: 8 },
  { min: 9, max: 16 },
];

test('ranges in the address and in words', () => {
  assert.deepEqual(parseRange('129-256'), { min: 129, max: 256 });
  assert.equal(parseRange('256-129'), null);
  assert.equal(parseRange('129'), null);
  assert.equal(parseRange('a-b'), null);
  assert.equal(rangeKey({ min: 0, max: 0 }), '0-0');
  assert.equal(plain(rangeWords({ min: 129, max: 256 })), '129 B to 256 B');
  assert.equal(plain(rangeWords({ min: 2049, max: 4096 })), 'over 2 KiB to 4 KiB');
  assert.equal(plain(rangeWords({ min: 1, max: 1 })), '1 B');
  assert.equal(plain(rangeWords({ min: 513, max: 1024 })), '513 B to 1 KiB');
  assert.equal(plain(rangeWords({ min: 1100, max: 1500 })), '1 100 B to 1 500 B');
});

test('labels of columns', () => {
  assert.deepEqual([8, 512, 1024, 65536, 1048576].map(sizeLabel), ['8', '512', '1K', '64K', '1M']);
});

test('a range is cut to the filter', () => {
  const r = { min: 33, max: 64 };
  assert.deepEqual(cutToFilter(r, {}), r);
  assert.deepEqual(cutToFilter(r, { size_min: '40' }), { min: 40, max: 64 });
  assert.deepEqual(cutToFilter({ min: 1, max: 8192 }, { size_max: '4K' }), { min: 1, max: 4096 });
});

test('leaving a range out works at the ends only', () => {
  assert.deepEqual(withoutRange({ min: 3, max: 4 }, BUCKETS), { size_min: '5' });
  assert.deepEqual(withoutRange({ min: 9, max: 16 }, BUCKETS), { size_max: '8' });
  assert.equal(withoutRange({ min: 5, max: 8 }, BUCKETS), null);
  assert.equal(withoutRange({ min: 3, max: 16 }, BUCKETS), null, 'nothing would be left');
  assert.equal(withoutRange({ min: 3, max: 4 }, []), null);
});

test('buckets of a range', () => {
  assert.deepEqual(bucketsIn({ min: 5, max: 16 }, BUCKETS), [1, 2]);
  assert.deepEqual(bucketsIn({ min: 4, max: 5 }, BUCKETS), [0, 1]);
  assert.equal(bucketsIn({ min: 17, max: 32 }, BUCKETS), null);
});

test('the greatest value, if any', () => {
  assert.equal(greatest([0, 3, 9, 9]), 2);
  assert.equal(greatest([0, 0]), -1);
});

test('scales: linear from 0, logarithmic from one step below the lowest tick', () => {
  const linear = valueScale(100, 'count', false);
  assert.equal(linear.at(0), 0);
  assert.equal(linear.ticks[0], 0);
  assert.ok(linear.at(100) <= 1 && linear.at(100) > 0.6);
  const log = valueScale(50_000, 'count', true);
  assert.deepEqual(log.ticks, [1, 10, 100, 1000, 10_000]);
  assert.equal(log.at(0), 0);
  assert.ok(log.at(1) > 0, 'one allocation has a height');
  assert.ok(Math.abs(log.at(1000) - log.at(100) - (log.at(100) - log.at(10))) < 1e-9);
  assert.ok(log.at(50_000) < 1);
});

test('lifetimes in classes: bounds belong to the lower class, nothing is lost', () => {
  const buckets = [
    { min_ns: 501, max_ns: 1000, count: 1 },
    { min_ns: 1001, max_ns: 2000, count: 2 },
    { min_ns: 500_001, max_ns: 1_000_000, count: 4 },
    { min_ns: 5e9 + 1, max_ns: 1e10, count: 8 },
    { min_ns: 5e10 + 1, max_ns: 1e11, count: 16 },
  ];
  assert.deepEqual(
    lifetimeClasses(buckets).map((c) => c.count),
    [1, 6, 0, 8, 16],
  );
});
