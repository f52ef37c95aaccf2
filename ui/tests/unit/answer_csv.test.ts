import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerRows } from '../../model/answer_csv';

test('objects become rows, their costs plain columns, their lists go', () => {
  const functions = [
    { key: 7, frame: { function: 'f', line: null }, cost: { bytes: 5 }, timeline: [1, 2] },
    { key: 8, frame: { function: 'g', line: 3 }, cost: { bytes: 6 }, removed: true },
  ];
  assert.deepEqual(answerRows({ functions, total_count: 2 }, 'functions'), [
    ['key', 'frame_function', 'frame_line', 'bytes', 'removed'],
    [7, 'f', null, 5, undefined],
    [8, 'g', 3, 6, 'true'],
  ]);
  assert.deepEqual(answerRows({}, 'functions'), [[]]);
});

test('points over time have their moment, and a column for each part', () => {
  const series = [{ name: 'libc', key: 1, blame: null, values: [1, 2] }];
  assert.deepEqual(
    answerRows({ from_ns: 100, to_ns: 120, bucket_ns: 10, max_bytes: [5, 6], series }, null),
    [
      ['from_ns', 'max_bytes', 'libc'],
      [100, 5, 1],
      [110, 6, 2],
    ],
  );
});

test('nodes of a tree name their parent and their function', () => {
  const names = [{ function: null }, { function: 'main', source: 'a.c', line: 4, module: 'a' }];
  assert.deepEqual(
    answerRows({ names, key: [0, 1], parent: [0, 0], name: [0, 1], bytes: [9, 9] }, null).slice(1),
    [
      [0, null, null, null, null, null, 0, 9],
      [1, 0, 'main', 'a.c', 4, 'a', 1, 9],
    ],
  );
});
