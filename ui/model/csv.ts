/* Tables as CSV (RFC 4180). Pure. */

export type Cell = string | number | null | undefined;

const cellText = (cell: Cell): string => {
  const text = cell === null || cell === undefined ? '' : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
};

/* The first row names the columns. Numbers are exact and without units. */
export const csvText = (rows: readonly (readonly Cell[])[]): string =>
  rows.map((row) => row.map(cellText).join(',') + '\r\n').join('');
