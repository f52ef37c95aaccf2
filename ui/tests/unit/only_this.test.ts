import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costLines } from '../../model/copy_text';
import { notFunction, onlyFunction } from '../../model/only_this';

test('only this, not this', () => {
  assert.deepEqual(onlyFunction('a::f(int)'), { function_regex: '^a::f\\(int\\)$' });
  assert.deepEqual(notFunction({}, 'f'), { negative_function_regex: '^f$' });
  assert.deepEqual(notFunction({ negative_function_regex: '^f$' }, 'g'), {
    negative_function_regex: '^f$|^g$',
  });
  assert.deepEqual(notFunction({ negative_function_regex: '(?i)f' }, 'G'), {
    negative_function_regex: '(?:(?i)f)|^G$',
  });
});

const FRAME = {
  function: 'a::f',
  source: '/src/a.rs',
  line: 7,
  module: 'a',
  address: '0x1',
  class: 'own',
};
const TOTAL = {
  peak_bytes: 4096,
  leaked_bytes: 10,
  allocations: 7,
  temporary_count: 0,
  bytes: 4096,
};

test('the clipboard gets name, location, and costs, rounded and exact', () => {
  const cost = { ...TOTAL, peak_bytes: 2048, leaked_bytes: -5 };
  assert.deepEqual(
    costLines(FRAME, cost, TOTAL)
      .replace(/[\u00a0\u202f]/g, ' ')
      .split('\n'),
    [
      'a::f',
      '/src/a.rs:7',
      'Peak: 2.00 KiB (2 048 bytes), 50.0 %',
      'Leaked: −5 B (−5 bytes), −50.0 %',
      'Allocations: 7, 100 %',
      'Temporary: 0',
      'Bytes: 4.00 KiB (4 096 bytes), 100 %',
    ],
  );
  assert.match(costLines(FRAME, cost, TOTAL, true), /Peak: \+2\.00/);
});
