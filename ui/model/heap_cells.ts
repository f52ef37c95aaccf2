/* The heap as cells in lines: where each cell is drawn, which cell a point hits, what a cell covers.
 * Pure. Addresses are texts of the API (0x...) and BigInt inside: they do not fit a number. */

/* The API's OccupiedRange. */
export interface HeapRange {
  start: string;
  end: string;
  name: string;
  cell_bytes: number;
  used: readonly number[]; // 0 to 1
}

export interface Cell {
  range: number;
  index: number; // in the range
  x: number; // column
  y: number; // line
}

export interface CellLayout {
  cells: Cell[];
  columns: number;
  lines: number;
}

/* Cells line by line; an empty column parts two ranges. */
export function layOut(ranges: readonly HeapRange[], columns: number): CellLayout {
  const cells: Cell[] = [];
  let at = 0;
  ranges.forEach((r, range) => {
    if (at % columns !== 0) at++;
    r.used.forEach((_, index) => {
      cells.push({ range, index, x: at % columns, y: Math.floor(at / columns) });
      at++;
    });
  });
  return { cells, columns, lines: Math.max(1, Math.ceil(at / columns)) };
}

/* Index of the cell at a column and line; -1: none. Cells are in the order of their places. */
export function cellAt(l: CellLayout, x: number, y: number): number {
  if (x < 0 || x >= l.columns) return -1;
  const place = y * l.columns + x;
  let [low, high] = [0, l.cells.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const c = l.cells[middle] as Cell;
    const its = c.y * l.columns + c.x;
    if (its === place) return middle;
    if (its < place) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

const hex = (value: bigint): string => '0x' + value.toString(16);

/* Addresses of a cell: first and last byte. The last cell of a range may be shorter than the others. */
export function cellAddresses(
  r: HeapRange,
  index: number,
): { first: string; last: string; bytes: number } {
  const start = BigInt(r.start) + BigInt(index) * BigInt(r.cell_bytes);
  const full = start + BigInt(r.cell_bytes);
  const end = full < BigInt(r.end) ? full : BigInt(r.end);
  return { first: hex(start), last: hex(end - 1n), bytes: Number(end - start) };
}

/* The address right behind a mapping. */
export const addressAfter = (address: string, size: number): string =>
  hex(BigInt(address) + BigInt(size));

/* Values of a series that has moments of its own, at the middle of n equal buckets: the last value
 * known then; 0 before the first. */
export function resample(
  at: readonly number[],
  values: readonly number[],
  fromNs: number,
  bucketNs: number,
  n: number,
): number[] {
  let i = -1;
  return Array.from({ length: n }, (_, bucket) => {
    const t = fromNs + (bucket + 0.5) * bucketNs;
    while (i + 1 < at.length && (at[i + 1] ?? Infinity) <= t) i++;
    return i < 0 ? 0 : (values[i] ?? 0);
  });
}
