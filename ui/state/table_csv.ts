/* The table of the page as CSV, for the Export menu: a page whose table the server does not export itself
 * says here how its rows are made. */
import { useEffect, useRef } from 'preact/hooks';
import { csvText, type Cell } from '../model/csv';
import { Signal } from './signal';

export interface TableCsv {
  file: string; // name of the download
  rows: () => readonly (readonly Cell[])[]; // the first one names the columns; exact values, no units
}

/* Of the page on screen; null: the page offers none. */
export const tableCsv = new Signal<TableCsv | null>(null);

/* Offers the table while the component is shown. */
export function useTableCsv(file: string, rows: TableCsv['rows']): void {
  const latest = useRef(rows);
  latest.current = rows;
  useEffect(() => {
    const table = { file, rows: () => latest.current() };
    tableCsv.set(table);
    return () => {
      if (tableCsv.value === table) tableCsv.set(null);
    };
  }, [file]);
}

/* Lets the browser store a link as a file. */
export function download(href: string, file: string): void {
  const link = document.createElement('a');
  link.href = href;
  link.download = file;
  link.click();
}

export function downloadTable(table: TableCsv): void {
  const url = URL.createObjectURL(new Blob([csvText(table.rows())], { type: 'text/csv' }));
  download(url, table.file);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
