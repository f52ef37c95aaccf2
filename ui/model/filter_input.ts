/* What somebody types into the filter panel: text in, the API's value or a sentence about what is wrong
 * out, and back. Pure.
 *
 * The panel takes more than the API does (04:52:17, 1.5 MiB, 50 %, peak), so text is read here first.
 * Regular expressions, numbers of stacks and the like are left to the server, which answers 400 and names
 * the parameter: `refusalText` makes a sentence for people of that answer.
 */
import { parseBytes, parseDuration, type ClockText, clockDigits } from './format';
import type { FilterField } from './filters';

/* What showing depends on: the length of the recording, and how the reader writes moments. */
export interface ShowContext {
  runNs: number;
  clock: ClockText;
}

/* What reading depends on. */
export interface InputContext extends ShowContext {
  peakNs: number | null; // null: not known yet
  parseMoment: (text: string) => number | null;
}

export type Typed = { value: string; error?: undefined } | { value?: undefined; error: string };

const wrong = (error: string): Typed => ({ error });

/* Text of one input -> what the API gets. Empty text is no filter: an empty value. */
export function readInput(field: FilterField, text: string, c: InputContext): Typed {
  const t = text.trim();
  if (t === '' || field.kind === 'choice') return { value: t };
  switch (field.kind) {
    case 'size':
      return readSize(t);
    case 'interval':
      return readInterval(t, field);
    case 'moment':
      return readMoment(t, c);
    case 'count':
      return readCount(t);
    case 'share':
      return readShare(t);
    case 'text':
      return { value: field.keys[0] === 'address_min' ? readAddress(t) : t };
    default:
      return { value: text }; // a space can belong to a regular expression
  }
}

function readSize(t: string): Typed {
  const bytes = parseBytes(t);
  return bytes === null ? wrong('Not a size. For example 64, 4K, 1.5M.') : { value: String(bytes) };
}

function readInterval(t: string, field: FilterField): Typed {
  const takesShare = field.keys[0].startsWith('group_');
  const share = takesShare ? shareOf(t) : null;
  if (share) return { value: share };
  if (parseDuration(t) === null)
    return wrong(
      `Not a length of time. For example 250ms, 4h3m2s${takesShare ? ', or 10 % of the run' : ''}.`,
    );
  return { value: t.replace(/\s+/g, '').replace(/µ/g, 'u') };
}

export function readMoment(t: string, c: InputContext): Typed {
  const word = t.toLowerCase();
  if (word === 'peak')
    return c.peakNs === null
      ? wrong('The peak of this recording is not known yet.')
      : { value: `+${c.peakNs}ns` };
  const at = word === 'start' ? 0 : word === 'end' ? c.runNs : c.parseMoment(t);
  if (at === null) return wrong('Not a moment. For example 04:52:17, 80 %, 250ms or peak.');
  if (at > c.runNs)
    return wrong(`The recording ends at ${c.clock(c.runNs, clockDigits(c.runNs))}.`);
  return { value: `+${Math.max(0, Math.round(at))}ns` };
}

function readCount(t: string): Typed {
  const digits = t.replace(/[\s\u00a0\u202f]/g, '');
  return /^\d+$/.test(digits) ? { value: digits } : wrong('Not a whole number.');
}

function readShare(t: string): Typed {
  const share = shareOf(t);
  if (share) return { value: share };
  const plain = readCount(t);
  return plain.error ? wrong('Neither a whole number nor a share such as 50 %.') : plain;
}

const shareOf = (t: string): string | null =>
  /^\d+(\.\d+)?\s*%$/.test(t) ? t.replace(/\s+/g, '') : null;

/* "7f1a2c", "@7f1a2c" and "0x7f1a2c" are the same address; decimal digits alone stay decimal. */
function readAddress(t: string): string {
  const bare = t.replace(/^@/, '').replace(/^0x/i, '');
  const isHex = /^@|^0x/i.test(t) || /[a-f]/i.test(bare);
  return isHex && /^[0-9a-f]+$/i.test(bare) ? '0x' + bare : t;
}

/* An API's value as the panel shows it for editing; readInput(showInput(v)) means v, except that a moment
 * may lose digits: whoever did not change the text keeps the value. */
export function showInput(field: FilterField, value: string, c: ShowContext): string {
  const ns = /^\+?(\d+)ns$/.exec(value);
  if (field.kind === 'moment' && ns) return c.clock(Number(ns[1]), clockDigits(c.runNs));
  return value;
}

/* A pair whose lower bound is above the upper one matches nothing. Values are those of readInput. */
export function pairError(field: FilterField, low: string, high: string): string | null {
  if (!low || !high || field.keys.length < 2) return null;
  const [a, b] = [magnitude(low), magnitude(high)];
  if (a === null || b === null || low.endsWith('%') !== high.endsWith('%')) return null;
  return a > b ? 'The lower bound is above the upper one.' : null;
}

function magnitude(value: string): number | null {
  if (/^\d+(\.\d+)?%?$/.test(value)) return parseFloat(value);
  if (/^0x[0-9a-f]+$/i.test(value)) return Number(value);
  return parseDuration(value.replace(/^\+/, ''));
}

/* ---- what the server refused ---- */

/* The fields of the API's Error that this needs. */
export interface Refusal {
  error?: string;
  parameter?: string;
  value?: string;
  valid?: string;
}

/* A sentence for below the field: what is wrong, without the names of the API. */
export function refusalText(r: Refusal): string {
  const said = r.error ?? '';
  const regex = /at offset (\d+): (.*)$/s.exec(said);
  if (regex && r.value !== undefined)
    return regexText(r.value, Number(regex[1]), regex[2] ?? 'cannot be read');
  const tail =
    r.parameter && said.startsWith(`${r.parameter}: `) ? said.slice(r.parameter.length + 2) : said;
  if (/ is not valid; valid: /.test(tail) && r.valid) return sentence(`expected ${r.valid}`);
  return sentence(tail);
}

function regexText(pattern: string, offset: number, words: string): string {
  if (/missing closing parenthesis/.test(words)) {
    const at = unclosed(pattern, '(');
    if (at >= 0) return `The group opened at character ${at + 1} is not closed.`;
  }
  if (/missing terminating \]/.test(words)) {
    const at = unclosed(pattern, '[');
    if (at >= 0) return `The set opened at character ${at + 1} is not closed.`;
  }
  if (/unmatched closing parenthesis/.test(words))
    return `The ) at character ${offset + 1} closes no group.`;
  if (/quantifier does not follow/.test(words))
    return `The ${pattern[offset] ?? ''} at character ${offset + 1} has nothing to repeat.`;
  return sentence(`character ${offset}: ${words}`);
}

/* Where the innermost group, or the set, that is never closed begins; -1: there is none. */
function unclosed(pattern: string, what: '(' | '['): number {
  const groups: number[] = [];
  let set = -1;
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i];
    if (c === '\\') i++;
    else if (set >= 0) {
      /* a ] right after [ or [^ is an ordinary character */
      const isFirst = i === set + 1 || (i === set + 2 && pattern[set + 1] === '^');
      if (c === ']' && !isFirst) set = -1;
    } else if (c === '[') set = i;
    else if (c === '(') groups.push(i);
    else if (c === ')') groups.pop();
  }
  return what === '[' ? set : (groups[groups.length - 1] ?? -1);
}

function sentence(text: string): string {
  const t = text.trim();
  const begun = t.charAt(0).toUpperCase() + t.slice(1);
  return /[.!?]$/.test(begun) ? begun : begun + '.';
}
