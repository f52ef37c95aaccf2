/* What is said of allocations that were left out while recording. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allAllocations, culledShare, filterMisses, withoutCulled } from '../../model/culled';
import { SPACE } from '../../model/format';

const whole = { rows: 100, culled_count: 0 };
const culled = { rows: 100, culled_count: 21_900_000 };

test('all allocations are those with rows and those without', () => {
  assert.equal(allAllocations(whole), 100);
  assert.equal(allAllocations(culled), 21_900_100);
});

test('nothing is said of a recording with everything', () => {
  assert.equal(withoutCulled(null), '');
  assert.equal(withoutCulled(whole), '');
  assert.equal(filterMisses(whole), '');
  assert.equal(culledShare(0, 100), '');
});

test('pages of single allocations say what is missing', () => {
  assert.equal(withoutCulled(culled), `Without 21.9${SPACE}M short-lived ones (culled)`);
  assert.match(filterMisses(culled), /^21\.9.M were culled while recording\./);
  assert.equal(culledShare(98, 100), `98.0${SPACE}% culled`);
});
