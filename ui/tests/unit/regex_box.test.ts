import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boxOfRegex, exactTexts, regexOfBox } from '../../model/regex_box';

test('a text is looked for as it is, without regard to case', () => {
  assert.equal(regexOfBox('Seen'), '(?i)Seen');
  assert.equal(regexOfBox('a.b(c)'), '(?i)a\\.b\\(c\\)');
  assert.equal(regexOfBox(''), '');
  assert.equal(regexOfBox('/usr'), '(?i)/usr');
});

test('slashes hold an expression', () => {
  assert.equal(regexOfBox('/^a|b$/'), '^a|b$');
  assert.equal(regexOfBox('/^a/i'), '(?i)^a');
  assert.equal(regexOfBox('//'), '(?i)//');
});

test('a box shows what the address holds', () => {
  for (const text of ['Seen', 'a.b(c)', '/usr', '/^a|b$/', '/^a/i', '', '//', 'a\\b', '/x', 'x/'])
    assert.equal(boxOfRegex(regexOfBox(text)), text, text);
  /* an expression that somebody typed into the filter panel */
  assert.equal(boxOfRegex('^main$'), '/^main$/');
  assert.equal(boxOfRegex('(?i)\\d+'), '/\\d+/i');
  /* the same thing in fewer characters */
  assert.equal(boxOfRegex(regexOfBox('/abc/i')), 'abc');
});

test('expressions that match whole texts', () => {
  assert.deepEqual(exactTexts('^main$'), ['main']);
  assert.deepEqual(exactTexts('^\\Qf(int*)\\E$'), ['f(int*)']);
  assert.deepEqual(exactTexts('^f\\(int\\)$|^g$'), ['f(int)', 'g']);
  for (const more of ['', 'main', '^a|b$', '^a.*$', '^$', '(?i)^a$', '^\\Qa\\E.\\Qb\\E$'])
    assert.equal(exactTexts(more), null, more);
});
