/* How numbers, times and shares are written. Pure. Every page uses these functions, so that a
 * figure reads the same everywhere.
 *
 * A figure is a pair of text and unit: the two are set in different colours and the unit has a
 * slot of fixed width, so they stay apart until they are drawn. `join` makes one text of them.
 */

export const NARROW_SPACE = '\u202f'; // groups digits: 21 034
export const SPACE = '\u00a0'; // between number and unit, never broken
export const MINUS = '\u2212';

export type Figure = readonly [text: string, unit: string];
export type Unit = 'bytes' | 'count';

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;
const COUNT_UNITS = ['', 'k', 'M', 'G', 'T'] as const;

/* 21034 -> "21 034" */
export function group(value: number): string {
  const whole = Math.round(Math.abs(value)).toString();
  const sign = value < 0 && whole !== '0' ? MINUS : '';
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE);
}

/* Three significant digits; whole numbers from 100 on. */
function threeDigits(value: number): string {
  if (value >= 99.95) return group(value);
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

function scaled(value: number, base: number, units: readonly string[]): Figure {
  let magnitude = Math.abs(value);
  let i = 0;
  while (i < units.length - 1 && Math.round(magnitude) >= base) {
    magnitude /= base;
    i++;
  }
  const text = i === 0 ? Math.round(magnitude).toString() : threeDigits(magnitude);
  const sign = value < 0 && text !== '0' ? MINUS : '';
  return [sign + text, units[i] ?? ''];
}

/* 2.44 GiB; whole below 1 KiB; the next unit begins at 1024: 1 011 KiB, then 1.00 MiB */
export const bytes = (value: number): Figure => scaled(value, 1024, BYTE_UNITS);

/* Exact up to 99 999, then 124 k, 1.24 M */
export function count(value: number): Figure {
  return Math.abs(value) < 99999.5 ? [group(value), ''] : scaled(value, 1000, COUNT_UNITS);
}

export const figure = (value: number, unit: Unit): Figure =>
  unit === 'bytes' ? bytes(value) : count(value);

export const join = ([text, unit]: Figure): string => (unit ? text + SPACE + unit : text);

/* The exact value, for tooltips and the clipboard: "2 772 341 218 bytes" */
export const exact = (value: number, unit: Unit): string =>
  unit === 'bytes' ? `${group(value)}${SPACE}bytes` : group(value);

/* A change always carries its sign: +3.15 GiB, −12.4 MiB */
export function change(value: number, unit: Unit): Figure {
  const [text, u] = figure(value, unit);
  return [value > 0 ? '+' + text : text, u];
}

/* "82.0 %", "<0.1 %", "100 %"; empty when the part is 0. */
export function share(part: number, whole: number): string {
  if (!whole || !part) return '';
  const p = (100 * part) / whole;
  const size = Math.abs(p);
  if (size < 0.05) return (p < 0 ? MINUS : '') + '<0.1' + SPACE + '%';
  if (size > 99.9 && size < 100) return '>99.9' + SPACE + '%';
  const text = size === 100 ? '100' : size.toFixed(size >= 1000 ? 0 : 1);
  return (p < 0 ? MINUS : '') + text + SPACE + '%';
}

const two = (n: number): string => Math.floor(n).toString().padStart(2, '0');

/* A length of time: 412 ns, 8.31 µs, 41.0 ms, 9.27 s, 4 m 07 s, 2 h 14 m, 3 d 04 h */
export function duration(ns: number): string {
  const s = ns / 1e9;
  if (s < 59.995) {
    const [value, unit] =
      ns < 999.5
        ? [ns, 'ns']
        : ns < 999.5e3
          ? [ns / 1e3, 'µs']
          : ns < 999.5e6
            ? [ns / 1e6, 'ms']
            : [s, 's'];
    const text = unit === 'ns' ? Math.round(value).toString() : threeDigits(value);
    return text + SPACE + unit;
  }
  const spaced = (a: number, ua: string, b: number, ub: string) =>
    `${Math.floor(a)}${SPACE}${ua}${SPACE}${two(b)}${SPACE}${ub}`;
  if (s < 3600) return spaced(s / 60, 'm', s % 60, 's');
  if (s < 86400) return spaced(s / 3600, 'h', (s % 3600) / 60, 'm');
  return spaced(s / 86400, 'd', (s % 86400) / 3600, 'h');
}

/* A moment since the start: 04:52:17, with `digits` decimals. */
export function clock(ns: number, digits = 0): string {
  const unit = Math.pow(10, digits);
  const ticks = Math.floor((ns / 1e9) * unit + 1e-6);
  const whole = Math.floor(ticks / unit);
  const fraction = digits ? '.' + (ticks % unit).toString().padStart(digits, '0') : '';
  return `${two(whole / 3600)}:${two((whole / 60) % 60)}:${two(whole % 60)}${fraction}`;
}

/* Writes a moment, given as nanoseconds since the start of the recording. `clock` is one; the other is
 * wallTime with its start. Pages get the one that the reader chose from state/clock.ts. */
export type ClockText = (ns: number, digits?: number) => string;

const DAY_NS = 86400e9;
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/* Nanoseconds from midnight (UTC) to the start of a recording. */
export const sinceMidnight = (startNs: number): number => startNs % DAY_NS;

/* "16 Nov" of the day that many days after the start. */
function dayText(startNs: number, days: number): string {
  const d = new Date(startNs / 1e6 + days * 86400e3);
  return `${d.getUTCDate()} ${MONTHS[d.getUTCMonth()]}`;
}

/* Wall clock (UTC) of a moment: 02:14:07; on a later day than the start: 16 Nov 02:14:07. */
export function wallTime(startNs: number, atNs: number, digits = 0): string {
  const t = sinceMidnight(startNs) + atNs;
  const days = Math.floor(t / DAY_NS);
  const time = clock(t - days * DAY_NS, digits);
  return days === 0 ? time : `${dayText(startNs, days)} ${time}`;
}

/* The moment that a wall clock names: the first one after the start, or that of the day given.
 * null: not a time of day. */
export function parseWallTime(text: string, startNs: number): number | null {
  const m = /^(?:(\d{1,2}\s+[A-Za-z]{3})\s+)?(\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)$/.exec(
    text.trim(),
  );
  if (!m) return null;
  const [hours = '', minutes = '', seconds = '0'] = (m[2] ?? '').split(':');
  const ofDay = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1e9;
  const at = Math.round(ofDay - sinceMidnight(startNs));
  if (!m[1]) return at < 0 ? at + DAY_NS : at;
  const wanted = m[1].replace(/\s+/, ' ').toLowerCase();
  for (let day = 0; day < 366; day++)
    if (dayText(startNs, day).toLowerCase() === wanted) return at + day * DAY_NS;
  return null;
}

/* How many decimals a clock needs so that a span of this length shows different moments. */
export function clockDigits(spanNs: number): number {
  if (spanNs >= 120e9) return 0;
  if (spanNs >= 1e8) return 3;
  return spanNs >= 1e5 ? 6 : 9;
}

/* "04:52:17.5", "52:17", "17.5s", "80%", "250ms", "4h3m2s" -> nanoseconds since the start, or null */
export function parseMoment(text: string, runNs: number): number | null {
  const t = text.trim();
  const percent = /^(\d+(?:\.\d+)?)\s*%$/.exec(t);
  if (percent) return Math.round((Number(percent[1]) / 100) * runNs);
  if (/^\d+(:\d{1,2}){1,2}(\.\d+)?$/.test(t)) {
    return Math.round(t.split(':').reduce((sum, part) => sum * 60 + Number(part), 0) * 1e9);
  }
  return parseDuration(t);
}

const UNIT_NS: Record<string, number> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
  d: 86400e9,
};

/* "250ms", "4h3m2s", "1.5s"; a bare number is seconds. null: not a length of time. */
export function parseDuration(text: string): number | null {
  const t = text.replace(/\s+/g, '');
  if (!t) return null;
  if (/^\d+(\.\d+)?$/.test(t)) return Math.round(Number(t) * 1e9);
  const parts = [...t.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d)/gi)];
  if (parts.map((p) => p[0]).join('') !== t) return null;
  return Math.round(
    parts.reduce((sum, p) => sum + Number(p[1]) * (UNIT_NS[(p[2] ?? '').toLowerCase()] ?? 0), 0),
  );
}

/* "64", "4K", "1.5 MiB" -> bytes; null: not a size. */
export function parseBytes(text: string): number | null {
  const m = /^(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B?)$/i.exec(text.trim());
  if (!m) return null;
  const power = 'KMGTP'.indexOf((m[2] ?? '').toUpperCase()) + 1;
  return Math.round(Number(m[1]) * Math.pow(1024, m[2] ? power : 0));
}

/* Wall clock of a moment: "15 Nov 2026 02:14:00 UTC". */
export function wallClock(startNs: number, atNs = 0): string {
  const d = new Date(startNs / 1e6 + atNs / 1e6);
  return (
    `${d.getUTCDate()} ${MONTHS[d.getUTCMonth()]} ${d.getUTCFullYear()} ` +
    `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())} UTC`
  );
}

/* "15 Nov 02:14", for lists. */
export function wallClockShort(startNs: number): string {
  const [day, month, , time] = wallClock(startNs).split(' ');
  return `${day} ${month} ${(time ?? '').slice(0, 5)}`;
}

export const plural = (n: number, one: string, many = one + 's'): string =>
  `${join(count(n))} ${n === 1 ? one : many}`;

/* "20 158 call sites", exact. */
export const callSites = (n: number): string =>
  `${group(n)} ${n === 1 ? 'call site' : 'call sites'}`;
