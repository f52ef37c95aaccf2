/* Columns of a wide table: which ones the reader sees, and how wide they are at which width of the
 * view. Pure.
 *
 * A table answers to the width of the view in four steps (styles/narrow.css asks the view, this file
 * only names the steps). A column says at which step it goes; the one that the table is sorted by
 * stays until the end, beside the first one. All widths are handed to CSS as custom properties, so
 * that a reader may add columns and nothing is measured.
 */
export const STEPS = 4; // 0: wide; 1: below 1060 px; 2: below 840; 3: below 720

export interface TableColumn {
  id: string;
  title: string;
  hint?: string; // the word explained
  /* CSS pixels at each step; of a short list the last one counts on. null: takes what is left */
  width: readonly (number | null)[];
  minWidth?: readonly number[]; // minimum widths of a column that takes what is left
  goes?: number; // first step at which it is not shown; default: stays
  class?: string; // "r" right-aligned, "pad"
  sort?: string; // the API's name for sorting by it
  isAscendingFirst?: boolean;
  isExtra?: boolean; // shown when the reader asks for it
}

/* The columns to show: all that are not extra, and the extra ones that the reader chose or that the
 * table is sorted by. */
export function shownColumns<T extends TableColumn>(
  all: readonly T[],
  chosen: readonly string[],
  sortedBy: string,
): T[] {
  return all.filter(
    (c) =>
      (!c.isExtra && !chosen.includes('-' + c.id)) ||
      (c.isExtra && chosen.includes(c.id)) ||
      (!!c.sort && c.sort === sortedBy),
  );
}

/* The reader shows or hides a column; "-id" hides one that is there by itself. */
export function toggled(
  all: readonly TableColumn[],
  chosen: readonly string[],
  id: string,
): string[] {
  const word = all.find((c) => c.id === id)?.isExtra ? id : '-' + id;
  return chosen.includes(word) ? chosen.filter((c) => c !== word) : [...chosen, word];
}

const goesAt = (c: TableColumn, sortedBy: string): number =>
  c.sort && c.sort === sortedBy ? STEPS : (c.goes ?? STEPS);

/* Classes of a column's cells: m1 to m3 make it go at a step. */
export function columnClass(c: TableColumn, sortedBy: string): string {
  const step = goesAt(c, sortedBy);
  return [c.class ?? '', step < STEPS ? `m${step}` : ''].filter(Boolean).join(' ');
}

const atStep = <T>(list: readonly T[], step: number): T | null =>
  list[Math.min(step, list.length - 1)] ?? null;

const PADDING = 28; // of a row, left and right

/* --cols-0 to --cols-3: the tracks at each step; --min-0 to --min-3: how wide they are at least. */
export function columnWidths(
  columns: readonly TableColumn[],
  sortedBy: string,
): Record<string, string> {
  const out: Record<string, string> = {};
  for (let step = 0; step < STEPS; step++) {
    const shown = columns.filter((c) => goesAt(c, sortedBy) > step);
    const widthOf = (c: TableColumn) => atStep(c.width, step);
    out[`--cols-${step}`] = shown
      .map((c) => {
        const width = widthOf(c);
        return width === null ? 'minmax(0, 1fr)' : `${width}px`;
      })
      .join(' ');
    const least = shown.reduce(
      (sum, c) => sum + (widthOf(c) ?? atStep(c.minWidth ?? [], step) ?? 0),
      PADDING,
    );
    out[`--min-${step}`] = step < 3 ? `${least}px` : '0px';
  }
  return out;
}
