import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  callersText,
  freedText,
  growthShape,
  growthText,
  intervalText,
  rateText,
  sizesText,
  stackText,
  threadsText,
  viaText,
} from '../../model/site_facts';
import { findRegex, parseAddressText } from '../../model/find';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
const points = (f: (t: number) => number, n = 120) =>
  Array.from({ length: n }, (_, i) => f((i + 1) / n));
const S = 1e9;

test('freed: none, all, a share', () => {
  assert.equal(plain(freedText(10_200_000, 10_200_000)), 'none of 10.2 M');
  assert.equal(plain(freedText(936, 0)), 'all of 936');
  assert.equal(plain(freedText(1000, 18)), '98.2 % of 1 000');
  assert.equal(plain(freedText(100_000_000, 1)), '>99.9 % of 100 M');
});

test('interval and rate', () => {
  assert.equal(plain(intervalText(10_155_000, 0, 9600 * S)), '2 h 40 m, 1 058 per second');
  assert.equal(plain(intervalText(3, 5 * S, 3605 * S)), '1 h 00 m, 3.00 per hour');
  assert.equal(intervalText(1, 5, 5), 'one allocation');
  assert.equal(intervalText(2, 5, 5), 'all at the same moment');
  assert.equal(rateText(90, 60 * S), '1.50 per second');
  assert.equal(rateText(1, 30 * 86400 * S), '0.03 per day');
});

test('sizes', () => {
  assert.equal(plain(sizesText(96, 96, 960, 10)), '96 B, all the same');
  assert.equal(plain(sizesText(96, 96, 96, 1)), '96 B');
  assert.equal(plain(sizesText(16, 2048, 4096, 4)), '16 B to 2.00 KiB, 1.00 KiB in the mean');
});

test('threads', () => {
  assert.equal(threadsText(['worker-03', 'main'], 34), '2 of 34 threads, most by worker-03');
  assert.equal(threadsText(['main'], 34), 'only main, of 34 threads');
  assert.equal(threadsText(['main'], 1), 'main');
});

test('the shape of a growth', () => {
  assert.equal(growthShape(points((t) => t * 1000)), 'straight line');
  assert.equal(growthShape(points((t) => (t > 0.3 ? 5000 : 0))), 'at once');
  assert.equal(growthShape(points((t) => Math.floor(t * 5) * 100)), 'in steps');
  assert.equal(growthShape(points((t) => 1000 * (1 - Math.exp(-8 * t)))), 'levels off');
  assert.equal(growthShape(points((t) => 1000 * Math.pow(t, 4))), 'speeds up');
  assert.equal(growthShape(points(() => 0)), '');
  assert.equal(growthShape([]), '');
  /* a line that begins late and ends early is a line */
  const part = points((t) => Math.max(0, Math.min(1, (t - 0.25) * 2)) * 1e6);
  assert.equal(growthShape(part), 'straight line');
});

test('growth in words, by the unit of time that fits', () => {
  const line = points((t) => t);
  const GIB = 1 << 30;
  assert.equal(plain(growthText(GIB, 8 * 3600 * S, line)), '128 MiB per hour, straight line');
  assert.equal(plain(growthText(GIB, 1024 * S, line)), '60.0 MiB per minute, straight line');
  assert.equal(plain(growthText(5 << 20, 5 * S, line)), '1.00 MiB per second, straight line');
  assert.equal(plain(growthText(4096, 0, [])), '4.00 KiB at once');
  assert.equal(growthText(0, 5 * S, []), 'none, everything was freed');
});

test('callers: two that are not runtime, the nearest first', () => {
  const frame = (name: string | null, cls: string) => ({
    function: name,
    source: '/src/a.cpp',
    line: 3,
    module: '/bin/a',
    address: '0x1',
    class: cls,
  });
  const frames = [
    frame('a::B::c(int)', 'own'),
    frame('tokio::poll', 'runtime'),
    frame(null, 'own'),
    frame('d', 'library'),
    frame('e', 'own'),
  ];
  assert.equal(callersText(frames), 'B::c ← d');
  const nameless = { ...frame(null, 'own'), module_offset: '0x20' };
  assert.equal(callersText([nameless]), 'a+0x20');
  assert.equal(stackText(frames.slice(0, 1)), '0 a::B::c(int)  (/src/a.cpp:3)');
});

test('find: text in any case, or an expression', () => {
  assert.equal(findRegex(' Seen.rs '), '(?i)Seen\\.rs');
  assert.equal(findRegex('/^a(b|c)/'), '^a(b|c)');
  assert.equal(findRegex('/abc/i'), '(?i)abc');
  assert.equal(findRegex('  '), '');
  assert.equal(parseAddressText('7F1A08c4e2a0'), '0x7f1a08c4e2a0');
  assert.equal(parseAddressText('0x10'), '0x10');
  assert.equal(parseAddressText('seen.rs'), null);
  assert.equal(parseAddressText('11112222333344445'), null);
});

test('what the blamed line called tells call sites of one line apart', () => {
  const frame = (name: string, kind = 'own') => ({
    function: name,
    source: null,
    line: null,
    module: null,
    address: '0x1',
    class: kind,
  });
  const main = frame('main');
  const push = frame('std::vector<Line, std::allocator<Line> >::push_back(Line&&)', 'runtime');
  assert.equal(viaText(push, [main]), 'via vector<…>::push_back, from main');
  assert.equal(viaText(push, []), 'via vector<…>::push_back');
  assert.equal(viaText(frame('malloc', 'allocator'), [main]), 'main');
  assert.equal(viaText(frame('operator new(unsigned long)', 'allocator'), [main]), 'main');
  assert.equal(viaText(undefined, [main]), 'main');
});
