import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  childPath,
  formatOpen,
  keyText,
  NOTHING_OPEN,
  parentPath,
  parseOpen,
  pathAndParents,
  underOf,
  withoutBranch,
  withPath,
} from '../../model/tree_open';

const sorted = (s: Iterable<string>) => [...s].sort();

test('open rows survive the address', () => {
  const cases: string[][] = [
    ['a'],
    ['a', 'b'],
    ['a', 'a.b', 'a.b.c', 'd'],
    ['a', 'a.b', 'a.b.c', 'a.d', 'a.d.e', 'f', 'f.g'],
    ['a', 'a.b', 'a.c', 'a.c.*', '*'],
  ];
  for (const open of cases) {
    const text = formatOpen(open);
    assert.deepEqual(sorted(parseOpen(text)), sorted(open), text);
    assert.equal(new URLSearchParams({ open: text }).toString(), `open=${text}`);
  }
  assert.equal(formatOpen(['a', 'a.b', 'a.b.c', 'd']), 'a.b.c__d');
});

test('nothing open is not the same as nothing said', () => {
  assert.equal(formatOpen([]), NOTHING_OPEN);
  assert.equal(parseOpen(NOTHING_OPEN).size, 0);
});

test('a damaged list gives what can be read', () => {
  assert.deepEqual(sorted(parseOpen('a.b____c')), ['a', 'a.b', 'c']);
  assert.deepEqual(sorted(parseOpen('%%a.-.b')), ['a', 'a.b']);
});

test('a path is the way from the root', () => {
  const path = childPath(childPath('', keyText(9007199254740991)), keyText(36));
  assert.equal(underOf(path), '9007199254740991,36');
  assert.equal(underOf(''), '');
  assert.equal(parentPath(path), keyText(9007199254740991));
  assert.equal(parentPath('a'), '');
  assert.deepEqual(pathAndParents('a.b.c'), ['a', 'a.b', 'a.b.c']);
});

test('closing a row forgets what is open below it, opening one opens its parents', () => {
  const open = new Set(['a', 'a.b', 'ab']);
  assert.deepEqual(sorted(withoutBranch(open, 'a')), ['ab']);
  assert.deepEqual(sorted(withPath(new Set(['x']), 'a.b')), ['a', 'a.b', 'x']);
});
