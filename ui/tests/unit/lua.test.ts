import assert from 'node:assert/strict';
import { test } from 'node:test';
import { luaPieces } from '../../model/lua';
import { SCRIPT_EXAMPLES } from '../../model/script_examples';

const kinds = (text: string): string[] =>
  luaPieces(text)
    .filter((p) => p.kind)
    .map((p) => `${p.kind} ${p.text}`);

test('keywords, names of ours, strings, numbers and comments', () => {
  assert.deepEqual(kinds('local x = allocations{ size_min = 0x30 } -- "no"'), [
    'keyword local',
    'ours allocations',
    'number 0x30',
    'comment -- "no"',
  ]);
  assert.deepEqual(kinds('x:size() y.print(1.5e3)'), ['number 1.5e3']);
  assert.deepEqual(kinds('"a\\"b" \'c\' [==[ d ]] ]==] --[[ e\nf ]] g'), [
    'string "a\\"b"',
    "string 'c'",
    'string [==[ d ]] ]==]',
    'comment --[[ e\nf ]]',
  ]);
});

test('what is not finished colours the rest', () => {
  assert.deepEqual(kinds('x = "abc'), ['string "abc']);
  assert.deepEqual(kinds('x = "abc\nend'), ['string "abc', 'keyword end']);
  assert.deepEqual(kinds('[[ a\nend'), ['string [[ a\nend']);
});

test('the pieces together are the text', () => {
  for (const e of SCRIPT_EXAMPLES)
    assert.equal(
      luaPieces(e.code)
        .map((p) => p.text)
        .join(''),
      e.code,
    );
});
