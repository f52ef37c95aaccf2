import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unbroken } from '../../model/unbroken';

test('figures keep their units and digits', () => {
  assert.equal(
    unbroken('f: 17 895 temporary, 18.8 % of all, 3.81 MiB more, each lives 3.19 us (median)'),
    'f: 17\u202f895 temporary, 18.8\u00a0% of all, 3.81\u00a0MiB more, each lives 3.19\u00a0µs (median)',
  );
  assert.equal(unbroken('for 4 m 07 s, in 7 functions'), 'for 4\u00a0m 07\u00a0s, in 7 functions');
  assert.equal(unbroken('12 k per second'), '12\u00a0k per second');
});
