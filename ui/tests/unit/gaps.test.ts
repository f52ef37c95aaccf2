/* Times without data in words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flagsOf, gapAt, gapList, gapWord, missingSentence, type Gap } from '../../model/gaps';

const clock = (ns: number) => `${ns} ns`;
const off: Gap = { kind: 'off', from_ns: 10, to_ns: 20 };
const lost: Gap = { kind: 'missing', from_ns: 30, to_ns: 35 };
const longer: Gap = { kind: 'missing', from_ns: 50, to_ns: 80 };

test('the gap at a moment', () => {
  assert.equal(gapAt([off, lost], 9), null);
  assert.equal(gapAt([off, lost], 10), off);
  assert.equal(gapAt([off, lost], 20), null);
  assert.equal(gapWord(off), 'recording switched off');
  assert.equal(gapWord(lost), 'events missing');
});

test('gaps in words', () => {
  assert.equal(
    gapList([off, lost], clock),
    'Recording was switched off from 10 ns to 20 ns. Events are missing from 30 ns to 35 ns.',
  );
  assert.equal(missingSentence([off], clock), '');
  assert.equal(
    missingSentence([off, lost], clock),
    'Events between 30 ns and 35 ns are missing, shown hatched on the timeline.',
  );
  assert.equal(
    missingSentence([lost, longer], clock),
    'Events are missing in 2 places, the longest between 50 ns and 80 ns, shown hatched on the timeline.',
  );
});

test('flags: off and on again, but not at the end of the run', () => {
  const last: Gap = { kind: 'off', from_ns: 90, to_ns: 100 };
  assert.deepEqual(flagsOf([off, lost, last], 100), [
    { ns: 10, isOn: false },
    { ns: 20, isOn: true },
    { ns: 90, isOn: false },
  ]);
});
