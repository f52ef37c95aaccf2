import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateText, firstUrl, MIN_ROWS, readPercent } from '../../model/estimates';

test('large recordings are asked for an estimate first', () => {
  assert.equal(firstUrl('/api/v1/x/summary', MIN_ROWS), '/api/v1/x/summary?first=60');
  assert.equal(firstUrl('/api/v1/x/tree?depth=1', MIN_ROWS), '/api/v1/x/tree?depth=1&first=60');
  assert.equal(firstUrl('/api/v1/x/findings', MIN_ROWS), '/api/v1/x/findings?first=60');
});

test('small ones, comparisons and questions without an estimate are not', () => {
  assert.equal(firstUrl('/api/v1/x/summary', MIN_ROWS - 1), null);
  assert.equal(firstUrl('/api/v1/x/tree?base=y', MIN_ROWS), null);
  assert.equal(firstUrl('/api/v1/x/allocations?count=100', MIN_ROWS), null);
  assert.equal(firstUrl('/api/v1/x/summary2', MIN_ROWS), null);
});

test('an answer says whether it is an estimate', () => {
  assert.equal(readPercent({ estimate: { read_percent: 3.125 } }), 3.125);
  assert.equal(readPercent({ total: {} }), null);
  assert.equal(readPercent(null), null);
  assert.match(estimateText(0.819), /^Estimate from 0\.82.% of the rows/);
  assert.equal(estimateText(0), 'Estimate; exact in a moment.');
  assert.match(estimateText(42.3), /^Estimate from 42.% of the rows/);
});
