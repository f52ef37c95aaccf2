/* The lines of a function that cost something, with a few lines around them. Pure. */

export interface ExcerptLine {
  line: number;
  text: string | null; // null: the file is not here
  value: number; // 0: the line costs nothing
  isAfterGap: boolean; // lines before this one are left out
}

const MAX_LINES = 14;
const AROUND = 4; // lines before and after one that costs something
const MAX_HOT = 10;

/* values: what lines cost, by number; text: the whole file, from line 1 on, or null. The heaviest lines
 * are there in any case; what is around them gives way when there are many. */
export function excerpt(
  values: ReadonlyMap<number, number>,
  text: readonly string[] | null,
): ExcerptLine[] {
  const hot = [...values]
    .filter(([line, value]) => value !== 0 && line > 0)
    .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]) || a[0] - b[0])
    .slice(0, MAX_HOT)
    .map(([line]) => line);
  const last = text ? text.length : 0;
  let lines: number[] = [];
  for (let around = text ? AROUND : 0; around >= 0; around--) {
    const chosen = new Set(hot);
    for (const line of hot)
      for (let at = line - around; at <= line + around; at++)
        if (at > 0 && at <= last) chosen.add(at);
    lines = [...chosen].sort((a, b) => a - b);
    if (lines.length <= MAX_LINES) break;
  }
  return lines.map((line, i) => ({
    line,
    text: text?.[line - 1] ?? null,
    value: values.get(line) ?? 0,
    isAfterGap: i > 0 && lines[i - 1] !== line - 1,
  }));
}

/* Removes the indentation that all lines share; tabs count as four columns. */
export function unindent(texts: readonly (string | null)[]): (string | null)[] {
  const wide = texts.map((t) => t?.replace(/\t/g, '    ') ?? null);
  const indents = wide.filter((t) => t !== null && t.trim()).map((t) => t!.search(/\S/));
  const least = indents.length ? Math.min(...indents) : 0;
  return wide.map((t) => t?.slice(least) ?? null);
}
