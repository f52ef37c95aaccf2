import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addressRanges,
  bestMatches,
  foundParts,
  readQuestion,
  readTimes,
} from '../../model/search';
import { parseMoment } from '../../model/format';

test('the first character says what is asked for', () => {
  assert.deepEqual(readQuestion(' seen '), { kind: 'text', text: 'seen' });
  assert.deepEqual(readQuestion('> dark'), { kind: 'command', text: 'dark' });
  assert.deepEqual(readQuestion('@7f1a'), { kind: 'address', text: '7f1a' });
  assert.deepEqual(readQuestion(':04:52'), { kind: 'time', text: '04:52' });
  assert.deepEqual(readQuestion('std::vec'), { kind: 'text', text: 'std::vec' });
});

test('an address is exact when it is whole, else also the beginning of one', () => {
  const whole = { from: '0x7f1a2c003f10', to: '0x7f1a2c003f10' };
  assert.deepEqual(addressRanges('7f1a2c003f10'), [whole]);
  assert.deepEqual(addressRanges('0x7F1A2C003F10'), [whole]);
  const prefix = { from: '0x7f1a00000000', to: '0x7f1affffffff' };
  assert.deepEqual(addressRanges('7f1a'), [prefix]);
  assert.deepEqual(addressRanges('1c3f2a0'), [
    { from: '0x1c3f2a000000', to: '0x1c3f2a0fffff' },
    { from: '0x1c3f2a0', to: '0x1c3f2a0' },
  ]);
  assert.deepEqual(addressRanges('7f1a..'), [prefix]);
  assert.deepEqual(addressRanges('seen'), []);
});

test('a time is a moment of the run, or a range', () => {
  const run = 6 * 3600e9;
  const parse = (text: string) => parseMoment(text, run);
  assert.deepEqual(readTimes('04:52', run, parse), { at: [292e9, 17520e9] });
  assert.deepEqual(readTimes('04:52', 300e9, parse), { at: [292e9] });
  assert.deepEqual(readTimes('04:52:17', run, parse), { at: [17537e9] });
  assert.deepEqual(readTimes('50 %', run, parse), { at: [10800e9] });
  assert.deepEqual(readTimes('1m-2m', run, parse), { fromNs: 60e9, toNs: 120e9 });
  assert.deepEqual(readTimes('5h to 7h', run, parse), { fromNs: 18000e9, toNs: run });
  assert.deepEqual(readTimes('9h', run, parse), { at: [] });
  assert.equal(readTimes('2m-1m', run, parse), null);
  assert.equal(readTimes('soon', run, parse), null);
});

test('labels that begin with the text come first', () => {
  const labels = ['Go to Source', 'Export heaptrack', 'Source', 'Resource'];
  assert.deepEqual(
    bestMatches(labels, 'source', (l) => l),
    ['Source', 'Go to Source', 'Resource'],
  );
  assert.deepEqual(
    bestMatches(labels, 'go so', (l) => l),
    ['Go to Source'],
  );
});

test('what was typed is marked once', () => {
  assert.deepEqual(foundParts('SeenCache::seen', 'seen'), [
    { text: 'Seen', isFound: true },
    { text: 'Cache::seen', isFound: false },
  ]);
  assert.deepEqual(foundParts('abc', ''), [{ text: 'abc', isFound: false }]);
});
