import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bytes,
  change,
  clock,
  clockDigits,
  count,
  duration,
  group,
  join,
  parseBytes,
  parseDuration,
  parseMoment,
  parseWallTime,
  share,
  wallTime,
} from '../../model/format';
import { timeLabel, timeTicks } from '../../model/ticks';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ').replace(/\u2212/g, '-');

test('bytes have three digits and binary units', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.00 KiB'],
    [2.44 * 1024, '2.44 KiB'],
    [24.4 * 1024, '24.4 KiB'],
    [1011 * 1024, '1 011 KiB'],
    [1023.4 * 1024, '1 023 KiB'],
    [1023.6 * 1024, '1.00 MiB'],
    [3.15 * 1024 ** 3, '3.15 GiB'],
    [-12.4 * 1024 ** 2, '-12.4 MiB'],
  ];
  for (const [value, text] of cases) assert.equal(plain(join(bytes(value))), text);
});

test('counts are exact up to 99 999', () => {
  const cases: [number, string][] = [
    [21034, '21 034'],
    [99999, '99 999'],
    [100000, '100 k'],
    [124_000, '124 k'],
    [1_240_000, '1.24 M'],
    [999_600, '1.00 M'],
    [124_000_000, '124 M'],
  ];
  for (const [value, text] of cases) assert.equal(plain(join(count(value))), text);
});

test('a change carries its sign', () => {
  assert.equal(plain(join(change(3.15 * 1024 ** 3, 'bytes'))), '+3.15 GiB');
  assert.equal(plain(join(change(-5, 'count'))), '-5');
  assert.equal(plain(join(change(0, 'count'))), '0');
});

test('shares have one decimal and never lie about the ends', () => {
  const cases: [number, number, string][] = [
    [0, 10, ''],
    [1, 0, ''],
    [82, 100, '82.0 %'],
    [1, 100_000, '<0.1 %'],
    [99_990, 100_000, '>99.9 %'],
    [5, 5, '100 %'],
  ];
  for (const [part, whole, text] of cases) assert.equal(plain(share(part, whole)), text);
});

test('lengths of time', () => {
  const cases: [number, string][] = [
    [412, '412 ns'],
    [8310, '8.31 µs'],
    [41e6, '41.0 ms'],
    [9.27e9, '9.27 s'],
    [247e9, '4 m 07 s'],
    [8040e9, '2 h 14 m'],
    [273600e9, '3 d 04 h'],
  ];
  for (const [value, text] of cases) assert.equal(plain(duration(value)), text);
});

test('moments', () => {
  assert.equal(clock(17537e9), '04:52:17');
  assert.equal(clock(1.196_4e9, 3), '00:00:01.196');
  assert.equal(group(-0.2), '0');
});

test('a clock has the decimals that tell the moments of a span apart, and no more', () => {
  assert.deepEqual([600e9, 9e9, 700e6, 20e6, 300e3, 500].map(clockDigits), [0, 3, 3, 6, 6, 9]);
});

test('what people type is understood', () => {
  assert.equal(parseMoment('04:52:17', 1), 17537e9);
  assert.equal(parseMoment('80 %', 100), 80);
  assert.equal(parseMoment('1.5s', 1), 1.5e9);
  assert.equal(parseMoment('soon', 1), null);
  assert.equal(parseDuration('4h3m2s'), 14582e9);
  assert.equal(parseDuration('250ms'), 250e6);
  assert.equal(parseDuration('250 parsecs'), null);
  assert.equal(parseBytes('4K'), 4096);
  assert.equal(parseBytes('1.5 MiB'), 1572864);
  assert.equal(parseBytes('64'), 64);
  assert.equal(parseBytes('-1'), null);
});

test('wall clock names the day when it is not that of the start', () => {
  const start = Date.UTC(2026, 10, 15, 22, 14, 0) * 1e6;
  assert.equal(wallTime(start, 0), '22:14:00');
  assert.equal(wallTime(start, 61.5e9, 1), '22:15:01.5');
  assert.equal(wallTime(start, 2 * 3600e9), '16 Nov 00:14:00');
  assert.equal(parseWallTime('22:15', start), 60e9);
  assert.equal(parseWallTime('16 Nov 00:14:00', start), 2 * 3600e9);
  assert.equal(parseWallTime('00:14:00', start), 2 * 3600e9); // the first one after the start
  assert.equal(parseWallTime('80 %', start), null);
});

test('ticks are round on a wall clock, too', () => {
  const origin = 22 * 3600e9 + 14 * 60e9 + 30e9;
  const { at, stepNs } = timeTicks(0, 600e9, 5, origin);
  assert.deepEqual(
    at.map((t) => timeLabel(t, stepNs, 600e9, origin)),
    ['22:16', '22:18', '22:20', '22:22', '22:24'],
  );
  assert.equal(timeLabel(0, 1e9, 600e9, origin), '22:14:30');
  assert.equal(timeLabel(0.25e9, 0.05e9, 1e9, origin), '22:14:30.25');
});
