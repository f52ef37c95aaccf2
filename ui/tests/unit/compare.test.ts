/* Which questions carry the base of a comparison. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAddress, parseAddress } from '../../model/address';
import { isCompared } from '../../model/compare';

test('trees, functions, callers, totals and groups with names are compared', () => {
  for (const path of ['tree', 'functions', 'callers', 'summary']) assert.ok(isCompared(path, {}));
  for (const by of ['blame', 'package', 'function', 'line', 'module'])
    assert.ok(isCompared('groups', { by }), by);
});

test('what is known by numbers of one recording is not', () => {
  for (const by of ['stack', 'free_stack', 'thread', 'size', 'code', undefined])
    assert.ok(!isCompared('groups', { by }), by);
  assert.ok(!isCompared('groups', { by: 'blame', graph: 60 }));
  for (const path of ['allocations', 'timeline', 'source', 'peak', 'search', 'stack/3'])
    assert.ok(!isCompared(path, {}), path);
});

test('the base is part of the address', () => {
  const a = parseAddress('#/b/flame?base=a&cost=leaked');
  assert.equal(a.params['base'], 'a');
  assert.equal(formatAddress(a), '#/b/flame?base=a&cost=leaked');
});
