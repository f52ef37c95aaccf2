import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costOfAddress, formatAddress, onPage, parseAddress } from '../../model/address';
import { apiFilter, askedSpanNs, chipsOf } from '../../model/filters';

test('an address survives the way to text and back', () => {
  const text = '#/abc/flame?t0=5&t1=9&cost=leaked&function_regex=a%2Bb%26c&zoom=1,2';
  const parsed = parseAddress(text);
  assert.equal(parsed.page, 'flame');
  assert.equal(parsed.params['function_regex'], 'a+b&c');
  assert.equal(formatAddress(parsed), text);
  assert.deepEqual(parseAddress(formatAddress(parsed)), parsed);
});

test('an empty or unknown address is the overview of the last recording', () => {
  assert.deepEqual(parseAddress(''), { rec: 'last', page: 'overview', params: {} });
  assert.equal(parseAddress('#/last/nonsense').page, 'overview');
});

test('filters travel to another page, settings of the page do not', () => {
  const a = parseAddress('#/last/flame?t0=5&t1=9&size_min=64&zoom=1');
  assert.equal(formatAddress(onPage(a, 'sites')), '#/last/sites?t0=5&t1=9&size_min=64');
  assert.equal(
    formatAddress(onPage(a, 'sites', { t0: null, t1: null })),
    '#/last/sites?size_min=64',
  );
});

test('a page has a cost of its own until somebody chooses one', () => {
  assert.equal(costOfAddress(parseAddress('#/last/sites')), 'leaked');
  assert.equal(costOfAddress(parseAddress('#/last/sites?cost=temp')), 'temp');
  assert.equal(costOfAddress(parseAddress('#/last/sites?cost=nonsense')), 'leaked');
});

test('a range means what its menu says', () => {
  const filter = (query: string) => apiFilter(parseAddress('#/last/sites?' + query).params);
  assert.deepEqual(filter('t0=5&t1=9'), { from: '+5ns', to: '+9ns' });
  assert.deepEqual(filter('t0=5&t1=9&tm=end'), { alive_at: '+9ns' });
  assert.deepEqual(filter('t0=5&t1=9&tm=kept'), {
    from: '+5ns',
    to: '+9ns',
    lifetime: 'only_not_deallocated_in_current_range',
  });
  assert.deepEqual(filter('t0=9&t1=5'), {});
});

test('chips say what filters mean', () => {
  const { params } = parseAddress(
    '#/last/sites?t0=0&t1=3600000000000&lifetime=only_leaked&size_min=64',
  );
  const texts = chipsOf(params, 7200e9).map((c) => `${c.label} ${c.text}`.replace(/\u00a0/g, ' '));
  assert.deepEqual(texts, [
    'Allocated in 00:00:00 to 01:00:00',
    'Freed never',
    'Bytes asked for at least 64 B',
  ]);
});

test('a chip shows the short name of a function that is meant exactly', () => {
  const name = 'Audit::record(std::shared_ptr<Order> const&)';
  const [chip] = chipsOf({ blame_regex: `^\\Q${name}\\E$` }, 1e9);
  assert.deepEqual(chip, {
    keys: ['blame_regex'],
    label: 'Allocated by',
    text: 'Audit::record',
    full: name,
  });
  assert.equal(chipsOf({ blame_regex: '^a.*' }, 1e9)[0]?.text, '/^a.*/');
});

test('rates go by the time in which what is asked for was allocated', () => {
  const range = { t0: '100', t1: '300' };
  assert.equal(askedSpanNs({}, 1000), 1000);
  assert.equal(askedSpanNs(range, 1000), 200);
  assert.equal(askedSpanNs({ ...range, tm: 'kept' }, 1000), 200);
  assert.equal(askedSpanNs({ ...range, tm: 'end' }, 1000), 300);
  assert.equal(askedSpanNs(range, 250), 150);
});
