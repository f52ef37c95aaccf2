import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMoment, momentKey, treeQuery } from '../../model/flame_query';

test('parameters of the page as those of the API', () => {
  assert.deepEqual(treeQuery({}), { direction: 'top_down', fold: 'runtime' });
  assert.deepEqual(treeQuery({ dir: 'up', mine: '0', fold: 'a', hide: 'b', collapse: '1' }), {
    direction: 'bottom_up',
    fold: 'none',
    fold_regex: 'a',
    hide_regex: 'b',
    collapse_recursion: 'true',
  });
});

test('the pinned moment takes the parameter that is free', () => {
  const pinned = { at: '5', moment: '1' };
  assert.equal(treeQuery(pinned)['alive_at'], '+5ns');
  const other = treeQuery({ ...pinned, alive_at: '50%' });
  assert.equal(other['alive_at'], undefined); // the filter's own is sent beside it
  assert.equal(other['alive_at_2'], '+5ns');
  /* a range that means "alive at its end" uses one as well */
  assert.equal(momentKey({ t0: '1', t1: '2', tm: 'end' }), 'alive_at_2');
  const both = { ...pinned, alive_at: '50%', alive_at_2: '60%' };
  assert.equal(momentKey(both), null);
  assert.equal(isMoment(both), false);
  assert.equal(isMoment({ moment: '1' }), false);
});
