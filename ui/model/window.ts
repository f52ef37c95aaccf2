/* Which rows of a long table are on screen, and where. Pure.
 *
 * Browsers clamp the height of an element near 17 million pixels. A taller table gets a scrollbar of
 * MAX_HEIGHT that maps in proportion: `top` is the table's true position in pixels, `scrollTop` that
 * of the element. One row may be open and taller than the others.
 */
export const MAX_HEIGHT = 10_000_000;
export const MARGIN_ROWS = 10; // rows that exist above and below the visible ones

export interface Table {
  rows: number;
  rowHeight: number;
  viewHeight: number;
  openRow: number; // -1: none
  openHeight: number; // that the open row has more than the others
}

export const fullHeight = (t: Table): number =>
  t.rows * t.rowHeight + (t.openRow >= 0 ? t.openHeight : 0);

export const scrollHeight = (t: Table): number => Math.min(MAX_HEIGHT, fullHeight(t));

/* How far the table can be scrolled, truly and as the element sees it. */
const span = (t: Table): number => Math.max(0, fullHeight(t) - t.viewHeight);
const scrollSpan = (t: Table): number => Math.max(0, scrollHeight(t) - t.viewHeight);

/* Positions are whole pixels: text between pixels is blurred. */
export const clampTop = (t: Table, top: number): number =>
  Math.round(Math.max(0, Math.min(span(t), top)));

export function topOfScroll(t: Table, scrollTop: number): number {
  const s = scrollSpan(t);
  return s ? clampTop(t, (scrollTop / s) * span(t)) : 0;
}

export function scrollOfTop(t: Table, top: number): number {
  const s = span(t);
  return s ? Math.round((clampTop(t, top) / s) * scrollSpan(t)) : 0;
}

/* The true position of a row's upper edge. */
export function rowTop(t: Table, row: number): number {
  return row * t.rowHeight + (t.openRow >= 0 && row > t.openRow ? t.openHeight : 0);
}

export function rowAt(t: Table, y: number): number {
  if (t.openRow < 0 || y < (t.openRow + 1) * t.rowHeight) return Math.floor(y / t.rowHeight);
  const below = y - (t.openRow + 1) * t.rowHeight - t.openHeight;
  return below < 0 ? t.openRow : t.openRow + 1 + Math.floor(below / t.rowHeight);
}

/* Rows [first, last] that can be seen, in part at least. */
export function rowsOnScreen(t: Table, top: number): [first: number, last: number] {
  const below = Math.max(0, top + t.viewHeight - 1);
  return [Math.max(0, rowAt(t, top)), Math.min(t.rows - 1, rowAt(t, below))];
}

/* Where rows count their positions from. A hundred million rows are billions of pixels high, and
 * browsers draw with floats of 24 bits: rows are placed relative to an origin near the view, which
 * moves so rarely that rows keep their places while somebody scrolls. */
const ORIGIN_STEP = 1_000_000;
export const originOf = (top: number): number => Math.floor(top / ORIGIN_STEP) * ORIGIN_STEP;

/* Rows [first, last] that are to exist for a position. last < first: none. */
export function visibleRows(t: Table, top: number): [first: number, last: number] {
  const first = Math.max(0, rowAt(t, top) - MARGIN_ROWS);
  const last = Math.min(t.rows - 1, rowAt(t, top + t.viewHeight) + MARGIN_ROWS);
  return [first, last];
}

/* The position that shows a row: the same one where the row is visible already. */
export function topForRow(t: Table, top: number, row: number): number {
  const upper = rowTop(t, row);
  const lower = upper + t.rowHeight;
  if (upper < top) return clampTop(t, upper);
  return lower > top + t.viewHeight ? clampTop(t, lower - t.viewHeight) : top;
}

/* As above, but a row that is not visible comes into the upper third: one sees what is around it. */
export function topAround(t: Table, top: number, row: number): number {
  if (topForRow(t, top, row) === top) return top;
  return clampTop(t, rowTop(t, row) - t.viewHeight / 3);
}
