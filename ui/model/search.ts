/* What somebody typed into the search box: words for functions and files, an address (@7f1a..), a time
 * (:04:52), or a command (>). Pure. */

export type Question =
  | { kind: 'text'; text: string }
  | { kind: 'command'; text: string }
  | { kind: 'address'; text: string }
  | { kind: 'time'; text: string };

export function readQuestion(input: string): Question {
  const text = input.trim();
  const rest = text.slice(1).trim();
  if (text.startsWith('>')) return { kind: 'command', text: rest };
  if (text.startsWith('@')) return { kind: 'address', text: rest };
  if (text.startsWith(':')) return { kind: 'time', text: rest };
  return { kind: 'text', text };
}

/* ---- addresses ---- */

export interface AddressRange {
  from: string; // with 0x, for address_min
  to: string;
}

const ADDRESS_DIGITS = 12; // of an address in user space

const LOW_DIGITS = 6; // so many digits may be a whole address, too: that of a small program's heap

/* "7f1a2c003f10" -> that address; "7f1a" or "7f1a.." -> all that begin so; "1c3f2a0" -> both. Empty: not an
 * address. */
export function addressRanges(text: string): AddressRange[] {
  const m = /^(?:0x)?([0-9a-f]{1,16})(\.*)$/i.exec(text);
  if (!m) return [];
  const digits = (m[1] ?? '').toLowerCase();
  const exact = { from: '0x' + digits, to: '0x' + digits };
  if (digits.length >= ADDRESS_DIGITS) return [exact];
  const prefix = {
    from: '0x' + digits.padEnd(ADDRESS_DIGITS, '0'),
    to: '0x' + digits.padEnd(ADDRESS_DIGITS, 'f'),
  };
  return m[2] || digits.length < LOW_DIGITS ? [prefix] : [prefix, exact];
}

/* ---- times ---- */

export type Times = { at: number[] } | { fromNs: number; toNs: number };

/* "04:52" -> 4 min 52 s and, in a run that is long enough, 4 h 52 min; "1m-2m" -> a range. `parse` reads one
 * moment. Moments after the end are left out. null: not a time. */
export function readTimes(
  text: string,
  runNs: number,
  parse: (text: string) => number | null,
): Times | null {
  const range = /^(.+?)\s*(?:-|–|\bto\b|\.\.)\s*(.+)$/.exec(text);
  if (range) {
    const [from, to] = [parse(range[1] ?? ''), parse(range[2] ?? '')];
    if (from === null || to === null || to <= from) return null;
    return { fromNs: Math.min(from, runNs), toNs: Math.min(to, runNs) };
  }
  const first = parse(text);
  if (first === null) return null;
  const hours = /^(\d{1,3}):(\d{2})$/.exec(text);
  const second = hours ? (Number(hours[1]) * 3600 + Number(hours[2]) * 60) * 1e9 : first;
  return { at: [...new Set([first, second])].filter((ns) => ns >= 0 && ns <= runNs) };
}

/* ---- words ---- */

/* How well a label answers: every word must occur; a label that begins with the text is better than one
 * that has it at the start of a word, and that is better than one that has it anywhere. 0: no match. */
export function matchScore(label: string, text: string): number {
  const [l, t] = [label.toLowerCase(), text.toLowerCase().trim()];
  if (t === '') return 1;
  const words = t.split(/\s+/);
  if (!words.every((w) => l.includes(w))) return 0;
  if (l.startsWith(t)) return 4;
  const first = words[0] ?? '';
  const isWordStart = l.split(/[\s:/._-]+/).some((part) => part.startsWith(first));
  return isWordStart ? 3 : 2;
}

/* The items that match, best first, in their own order where they match equally well. */
export function bestMatches<T>(items: readonly T[], text: string, label: (item: T) => string): T[] {
  return items
    .map((item) => ({ item, score: matchScore(label(item), text) }))
    .filter((m) => m.score > 0)
    .sort((a, b) => b.score - a.score)
    .map((m) => m.item);
}

/* A label in parts: found or not, for marking what was typed. */
export function foundParts(label: string, text: string): { text: string; isFound: boolean }[] {
  const at = text ? label.toLowerCase().indexOf(text.toLowerCase()) : -1;
  if (at < 0) return [{ text: label, isFound: false }];
  return [
    { text: label.slice(0, at), isFound: false },
    { text: label.slice(at, at + text.length), isFound: true },
    { text: label.slice(at + text.length), isFound: false },
  ].filter((part) => part.text !== '');
}
