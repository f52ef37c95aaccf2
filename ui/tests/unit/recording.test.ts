import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  basename,
  commandText,
  describe,
  failureText,
  findRecordings,
  namesText,
  progressText,
  sortRecordings,
  stateOf,
  type RecordingFacts,
} from '../../model/recording';

const ready = (file: string, more: Partial<RecordingFacts>): RecordingFacts => ({
  file,
  state: 'ready',
  percent: 100,
  complete: true,
  ended: 'exit',
  ...more,
});
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

test('a state is one word, with a note where one helps', () => {
  const word = (more: Partial<RecordingFacts>) => stateOf(ready('a', more)).word;
  assert.equal(word({}), 'Finished');
  assert.equal(
    word({ growing: true, complete: false, ended: 'killed or still running' }),
    'Recording now',
  );
  assert.equal(word({ complete: false, ended: 'killed or still running' }), 'Killed');
  assert.equal(word({ complete: false }), 'Part missing');
  assert.equal(word({ imported: 'heaptrack' }), 'Imported');
  assert.equal(word({ state: 'failed' }), 'Cannot open');
});

test('progress has a number, and the time left when it is known', () => {
  const loading = { file: 'a', state: 'loading', percent: 62.7 };
  assert.equal(plain(progressText(loading)), '62 % read');
  assert.equal(plain(progressText({ ...loading, eta_s: 40.2 })), '62 % read, 41 s left');
  assert.equal(plain(progressText({ ...loading, eta_s: 100 })), '62 % read, 1 m 40 s left');
});

test('a program has the name under which it was run', () => {
  const name = (executable: string, argv0?: string) =>
    basename(ready('a.dat', { executable, ...(argv0 === undefined ? {} : { cmdline: [argv0] }) }));
  assert.equal(name('/usr/bin/redis-check-rdb', '/usr/bin/redis-server'), 'redis-server');
  assert.equal(name('/usr/bin/dash', 'sh'), 'sh');
  assert.equal(name('/usr/bin/bash', '-bash'), 'bash');
  assert.equal(name('/usr/lib/postgres', 'postgres: writer process'), 'postgres');
  assert.equal(name('/bin/a'), 'a');
  assert.equal(basename(ready('a.dat', {})), 'a.dat');
});

test('names that are still being found show as a percentage', () => {
  assert.equal(
    plain(namesText(ready('a', { names_percent: 62.9 }))),
    'names of functions: 62 % found',
  );
  assert.equal(namesText(ready('a', { names_percent: 100 })), '');
  assert.equal(namesText(null), '');
});

test('texts leave out what is said elsewhere', () => {
  assert.equal(
    commandText(ready('a', { cmdline: ['/usr/bin/node', '--x', 'a b'] })),
    'node --x a b',
  );
  assert.equal(
    failureText(ready('bad.dat', { error: '/var/a: b/bad.dat: offset 0: not a recording' })),
    'Not a recording',
  );
  assert.equal(failureText(ready('bad.dat', { error: 'no memory' })), 'No memory');
  const start = Date.UTC(2026, 10, 15, 2, 14) * 1e6;
  assert.equal(
    plain(describe(ready('a', { start_ns: start, duration_ns: 22342e9 }))),
    'finished, 15 Nov 02:14, 6 h 12 m',
  );
});

test('recordings without a value come last in both directions', () => {
  const list = [
    ready('a', { start_ns: 5 }),
    ready('b', {}),
    ready('c', { start_ns: 9 }),
    ready('d', { start_ns: 7 }),
  ];
  const files = (isAscending: boolean) =>
    sortRecordings(list, 'started', isAscending).map((r) => r.file);
  assert.deepEqual(files(false), ['c', 'd', 'a', 'b']);
  assert.deepEqual(files(true), ['a', 'd', 'c', 'b']);
});

test('recordings are found by program, command line, file and state', () => {
  const list = [
    ready('1.dat', { executable: '/bin/node', cmdline: ['node', '--fast'] }),
    ready('2.dat', { executable: '/bin/node', complete: false, ended: 'killed or still running' }),
  ];
  const found = (text: string) => findRecordings(list, text).map((r) => r.file);
  assert.deepEqual(found('node'), ['1.dat', '2.dat']);
  assert.deepEqual(found('NODE fast'), ['1.dat']);
  assert.deepEqual(found('killed'), ['2.dat']);
  assert.deepEqual(found('2.dat'), ['2.dat']);
  assert.deepEqual(found('python'), []);
});
