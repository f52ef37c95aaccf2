import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draftOf, fieldOf, readDraft } from '../../model/filter_draft';
import { pairError, readInput, refusalText, type InputContext } from '../../model/filter_input';
import { FILTER_FIELDS, type FilterField } from '../../model/filters';
import { clock, parseMoment } from '../../model/format';

const RUN_NS = 22342e9; // 06:12:22
const context: InputContext = {
  runNs: RUN_NS,
  peakNs: 17398e9,
  clock,
  parseMoment: (text) => parseMoment(text, RUN_NS),
};

function field(key: string): FilterField {
  const found = FILTER_FIELDS.find((f) => f.keys.some((k) => k === key));
  assert.ok(found, key);
  return found;
}
const read = (key: string, text: string) => readInput(field(key), text, context);

test('the panel takes what people write and sends what the API takes', () => {
  const cases: [key: string, text: string, value: string][] = [
    ['size_min', '1.5 MiB', '1572864'],
    ['size_min', '4K', '4096'],
    ['lifetime_min', '10 ms', '10ms'],
    ['lifetime_min', '8 µs', '8us'],
    ['alive_at', '04:52:17', '+17537000000000ns'],
    ['alive_at', '50 %', '+11171000000000ns'],
    ['alive_at', 'Peak', '+17398000000000ns'],
    ['alive_at', 'end', '+22342000000000ns'],
    ['group_allocations_min', '21\u202f034', '21034'],
    ['group_leaked_allocations_min', '50 %', '50%'],
    ['group_interval_min', '10 %', '10%'],
    ['address_min', '@7f1a2c', '0x7f1a2c'],
    ['address_min', '7f1a2c', '0x7f1a2c'],
    ['address_min', '140000', '140000'],
    ['function_regex', ' a b', ' a b'],
    ['size_min', '   ', ''],
  ];
  for (const [key, text, value] of cases) assert.deepEqual(read(key, text), { value }, text);
});

test('what cannot be read is said in a sentence', () => {
  assert.match(read('size_min', 'big').error ?? '', /^Not a size\./);
  assert.match(read('lifetime_min', 'long').error ?? '', /^Not a length of time\./);
  assert.match(read('alive_at', 'soon').error ?? '', /^Not a moment\./);
  assert.equal(read('alive_at', '07:00:00').error, 'The recording ends at 06:12:22.');
  assert.equal(read('chain_length_min', '1.5').error, 'Not a whole number.');
  assert.match(read('group_leaked_allocations_min', 'half').error ?? '', /50 %/);
});

test('a lower bound above the upper one is a mistake', () => {
  assert.equal(pairError(field('size_min'), '64', '4096'), null);
  assert.match(pairError(field('size_min'), '4096', '64') ?? '', /lower bound/);
  assert.match(pairError(field('lifetime_min'), '1m', '59s') ?? '', /lower bound/);
  assert.match(pairError(field('address_min'), '0x20', '16') ?? '', /lower bound/);
  /* a number and a share cannot be compared here */
  assert.equal(pairError(field('group_leaked_allocations_min'), '50%', '10'), null);
});

test('refusals of the server become sentences for people', () => {
  const regex = (value: string, tail: string) =>
    refusalText({
      error: `function_regex: invalid regular expression '${value}' at offset ${tail}`,
      parameter: 'function_regex',
      value,
    });
  const cases: [string, string, string][] = [
    [
      'gossip::(seen',
      '13: missing closing parenthesis',
      'The group opened at character 9 is not closed.',
    ],
    ['a\\((b', '5: missing closing parenthesis', 'The group opened at character 4 is not closed.'],
    ['[(](', '4: missing closing parenthesis', 'The group opened at character 4 is not closed.'],
    [
      '[]a',
      '3: missing terminating ] for character class',
      'The set opened at character 1 is not closed.',
    ],
    ['a)b', '1: unmatched closing parenthesis', 'The ) at character 2 closes no group.'],
    [
      'a**',
      '2: quantifier does not follow a repeatable item',
      'The * at character 3 has nothing to repeat.',
    ],
    [
      'x{2,1}',
      '5: numbers out of order in {} quantifier',
      'Character 5: numbers out of order in {} quantifier.',
    ],
  ];
  for (const [value, tail, text] of cases) assert.equal(regex(value, tail), text);
  assert.equal(
    refusalText({
      error: "thread: 'worker' is not valid; valid: a whole number up to 4294967295",
      parameter: 'thread',
      value: 'worker',
      valid: 'a whole number up to 4294967295',
    }),
    'Expected a whole number up to 4294967295.',
  );
  assert.equal(
    refusalText({
      error: 'from_map: there is no map 9: the recording has 3',
      parameter: 'from_map',
    }),
    'There is no map 9: the recording has 3.',
  );
});

test('a draft that nobody changed means exactly what the address means', () => {
  const params = {
    t0: '1234567891',
    t1: '17537123456789',
    tm: 'kept',
    alive_at: '+17398000000017ns',
    size_min: '64',
    lifetime: 'only_leaked',
    function_regex: 'a b ',
  };
  const got = readDraft(draftOf(params, context), params, context);
  assert.deepEqual(got, { params, errors: {} });
});

test('a draft reports every field that it cannot read, and keeps the others', () => {
  const got = readDraft({ size_min: 'x', lifetime_max: '5s', t0: '5s', t1: '1s' }, {}, context);
  assert.deepEqual(Object.keys(got.errors).sort(), ['size_min', 't0']);
  assert.equal(got.params['lifetime_max'], '5s');
});

test('one end of the range is enough', () => {
  const range = (draft: Record<string, string>) => {
    const { params, errors } = readDraft(draft, {}, context);
    assert.deepEqual(errors, {});
    return [params['t0'], params['t1']];
  };
  assert.deepEqual(range({ t0: '1m' }), ['60000000000', String(RUN_NS)]);
  assert.deepEqual(range({ t1: '00:01:00' }), ['0', '60000000000']);
});

test('parameters of the API lead to the field that asks for them', () => {
  assert.equal(fieldOf('from')?.label, 'Allocated in');
  assert.equal(fieldOf('size_max')?.label, 'Bytes asked for');
  assert.equal(fieldOf('nonsense'), null);
});
