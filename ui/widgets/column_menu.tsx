/* "Columns": which columns of a table the reader sees. Kept in this browser, not in the address. */
import { shownColumns, toggled, type TableColumn } from '../model/columns';
import { change, settings } from '../state/settings';
import { useSignal } from '../state/signal';
import { Menu } from './floating';

const NONE: readonly string[] = [];

/* What the reader chose for a table. */
export const useChosenColumns = (table: string): readonly string[] =>
  useSignal(settings).columns[table] ?? NONE;

export function toggleColumn(table: string, all: readonly TableColumn[], id: string): void {
  const { columns } = settings.value;
  change({ columns: { ...columns, [table]: toggled(all, columns[table] ?? NONE, id) } });
}

interface ColumnMenuProps {
  table: string; // name in the settings
  columns: readonly TableColumn[];
  fixed: readonly string[]; // columns that always stay
}

export function ColumnMenu({ table, columns, fixed }: ColumnMenuProps) {
  const chosen = useChosenColumns(table);
  const shown = new Set(shownColumns(columns, chosen, '').map((c) => c.id));
  return (
    <Menu
      label="Choose columns"
      class="btn wide"
      button="Columns"
      items={() =>
        columns
          .filter((c) => c.title && !fixed.includes(c.id))
          .map((c) => ({
            label: c.title,
            isChecked: shown.has(c.id),
            act: () => toggleColumn(table, columns, c.id),
          }))
      }
    />
  );
}
