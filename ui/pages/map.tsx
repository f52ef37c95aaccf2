/* Memory map: how full the heap is at a moment, what the kernel gave over time, the mappings, the calls
 * that made them, and who holds nearly empty pages.
 *
 * The moment is the pinned one, else the peak. Of the address: at (the pin), mem (which chart), v (which
 * table), sort and order of the table, kind (of calls), row, cell (chosen cell of the heap).
 */
import { momentOf } from '../model/filters';
import { clockDigits } from '../model/format';
import { useClock } from '../state/clock';
import { useRecording } from '../state/recordings';
import { set, useAddress } from '../state/router';
import { Segments } from '../widgets/controls';
import { MapCallsTable } from './map_calls';
import { MemoryChart } from './map_chart';
import { HeapCard } from './map_heap';
import { HoldersTable } from './map_holders';
import { MappingsTable } from './map_mappings';

const VIEWS = [
  { id: 'maps', name: 'Mappings', table: MappingsTable },
  { id: 'held', name: 'Nearly empty pages', table: HoldersTable },
  { id: 'calls', name: 'Calls', table: MapCallsTable },
] as const;

export function MemoryMap() {
  const { params } = useAddress();
  const view = VIEWS.find((v) => v.id === params['v']) ?? VIEWS[0];
  const run = useRecording()?.duration_ns ?? 1;
  const pin = momentOf(params);
  const clock = useClock();
  const digits = clockDigits(run);
  const Table = view.table;
  return (
    <>
      <div class="map-top">
        <HeapCard at={pin} words={pin === null ? 'at the peak' : `at ${clock(pin, digits)}`} />
        <MemoryChart />
      </div>
      <div class="toolbar range-head">
        <Segments
          label="Table"
          options={VIEWS}
          value={view.id}
          onChange={(id) =>
            set({ v: id === 'maps' ? null : id, sort: null, order: null, row: null })
          }
        />
        <Table key={`${view.id}-head`} part="head" />
      </div>
      <Table key={view.id} part="body" />
    </>
  );
}

/* Each table draws its own part of the toolbar. */
export interface MapTableProps {
  part: 'head' | 'body';
}
