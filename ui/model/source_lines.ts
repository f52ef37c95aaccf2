/* The lines of a source file with what they cost. Pure. */
import { costOf, type CostId, type CostValues } from './costs';

/* The API's Source: the fields that the lines need. */
export interface SourceAnswer {
  first_line: number; // of text
  text: readonly string[]; // empty: the file is not here
  lines: readonly LineCost[];
}
export interface LineCost {
  line: number;
  function: string | null;
  cost: CostValues;
}

export interface SourceRow {
  line: number;
  text: string | null; // null: not known
  known: LineCost | null; // null: the line costs nothing
}

/* All lines of the file; without the file those that the recording knows. Lines that the recording has
 * beyond the end of the file (the file has changed since) are there, too. */
export function sourceRows(s: SourceAnswer): SourceRow[] {
  const costs = new Map(s.lines.map((l) => [l.line, l]));
  const rows: SourceRow[] = s.text.map((text, i) => {
    const line = s.first_line + i;
    return { line, text, known: costs.get(line) ?? null };
  });
  const inText = (line: number) => line >= s.first_line && line < s.first_line + s.text.length;
  for (const l of s.lines) if (!inText(l.line)) rows.push({ line: l.line, text: null, known: l });
  return rows.sort((a, b) => a.line - b.line);
}

export const lineValue = (row: SourceRow, cost: CostId): number =>
  row.known ? costOf(row.known.cost, cost) : 0;

/* Rows that have some of the cost, from top to bottom. */
export function hotRows(rows: readonly SourceRow[], cost: CostId): number[] {
  const out: number[] = [];
  rows.forEach((row, i) => {
    if (lineValue(row, cost) !== 0) out.push(i);
  });
  return out;
}

/* The row with most of the cost; -1: no row has any. */
export function hottestRow(rows: readonly SourceRow[], cost: CostId): number {
  return hotRows(rows, cost).reduce((best, i) => {
    const [a, b] = [rows[i], rows[best]];
    return a && (!b || Math.abs(lineValue(a, cost)) > Math.abs(lineValue(b, cost))) ? i : best;
  }, -1);
}

/* How strongly a line is tinted, 0 to 1: its part of the hottest line. */
export function heat(row: SourceRow, cost: CostId, most: number): number {
  const value = Math.abs(lineValue(row, cost));
  return value && most ? Math.max(0.15, value / most) : 0;
}

export const TAB_COLUMNS = 4;
const MAX_COLUMNS = 2000; // longer lines are cut on screen

/* Columns of the longest line: how far the table scrolls sideways. */
export function widestLine(rows: readonly SourceRow[]): number {
  const columns = (text: string) => text.length + (TAB_COLUMNS - 1) * (text.split('\t').length - 1);
  return Math.min(
    MAX_COLUMNS,
    rows.reduce((most, row) => Math.max(most, columns(row.text ?? '')), 0),
  );
}
