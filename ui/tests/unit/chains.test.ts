import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advice, growthPattern, sampleChain } from '../../model/chains';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

test('the advice says what to reserve and what that saves', () => {
  const c = { copied_bytes: 1000, reserve_bytes: 4096, saved_bytes: 920 };
  assert.equal(plain(advice(c)), 'reserve 4 KiB: 92.0 % of copies go');
  assert.equal(advice({ ...c, saved_bytes: 0 }), '');
  assert.equal(advice({ copied_bytes: 0, reserve_bytes: 64, saved_bytes: 0 }), '');
});

test('how a block grows', () => {
  assert.equal(growthPattern([16, 32, 64, 128, 256]), 'doubles');
  assert.equal(growthPattern([100, 150, 225, 338, 507]), 'grows by a factor of 1.5');
  assert.equal(plain(growthPattern([1000, 1288, 1576, 1864])), 'grows by 288 B at a time');
  assert.equal(growthPattern([64, 32]), 'shrinks');
  assert.equal(growthPattern([64, 64]), 'one size');
  assert.equal(growthPattern([64, 128, 32]), 'grows and shrinks');
  assert.equal(growthPattern([64, 128]), 'grows once');
  assert.equal(growthPattern([1000, 1001, 1500, 1501, 1502, 9000]), 'grows unevenly');
  assert.equal(growthPattern([8]), 'one size');
});

test('a long chain is shown by its ends and some between', () => {
  assert.deepEqual(sampleChain(3, 8), [0, 1, 2]);
  const shown = sampleChain(84, 8);
  assert.equal(shown.length, 8);
  assert.equal(shown[0], 0);
  assert.equal(shown[7], 83);
  assert.equal(new Set(shown).size, 8);
});
