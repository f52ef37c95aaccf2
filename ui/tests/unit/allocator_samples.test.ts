import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mainAllocator, type AllocatorSample } from '../../model/allocator_samples';

const sample = (s: Partial<AllocatorSample>): AllocatorSample => ({
  at_ns: 0,
  number: 0,
  allocator: 'libc',
  allocated: null,
  active: null,
  resident: null,
  mapped: null,
  ...s,
});

test('the allocator that holds most is shown, with what it knows', () => {
  const samples = [
    sample({ at_ns: 1, allocated: 10, mapped: 20 }),
    sample({ at_ns: 1, number: 1, allocator: 'jemalloc', allocated: 5, resident: 90, mapped: 99 }),
    sample({ at_ns: 2, allocated: 11, mapped: 30 }),
    sample({ at_ns: 2, number: 1, allocator: 'jemalloc', allocated: 6, resident: 91, mapped: 99 }),
  ];
  assert.deepEqual(mainAllocator(samples), {
    name: 'jemalloc',
    at: [1, 2],
    allocated: [5, 6],
    held: [90, 91],
    word: 'resident',
  });
  assert.equal(mainAllocator(samples.filter((s) => s.number === 0))?.word, 'mapped');
});

test('an allocator that says nothing has no lines', () => {
  assert.equal(mainAllocator([sample({ allocated: 3 })]), null);
  assert.equal(mainAllocator([]), null);
});
