/* Figures on screen: a number with its quiet unit, a cost with share and bar, the five costs. */
import { costHint, COSTS, costKind, costOf, type CostId, type CostValues } from '../model/costs';
import { hasFilter } from '../model/filters';
import { change, exact, figure, share, type Figure, type Unit } from '../model/format';
import { useAddress } from '../state/router';

/* Number and unit. `flow`: the unit takes only the room it needs (in text). */
export function Num({ value, flow, title }: { value: Figure; flow?: boolean; title?: string }) {
  /* B, KiB and MiB line up in one slot; so do counts with and without k or M */
  const kind = flow ? ' flow' : value[1].endsWith('B') ? '' : ' n';
  return (
    <span class={'num' + kind} title={title}>
      <b>{value[0]}</b>
      <i>{value[1]}</i>
    </span>
  );
}

/* A value of a unit, exact in the tooltip. */
export function Value({ value, unit, flow }: { value: number; unit: Unit; flow?: boolean }) {
  return <Num value={figure(value, unit)} flow={flow} title={exact(value, unit)} />;
}

interface CostCellProps {
  value: number;
  total: number;
  cost: CostId;
  isChange?: boolean; // of a comparison: with its sign
  hasShare?: boolean; // default true
  isBare?: boolean; // outside of a table: no role of a cell
  class?: string;
}

/* A table's cell: value, share, and the share again as a bar behind them. */
export function CostCell(p: CostCellProps) {
  const kind = costKind(p.cost);
  const percent = p.total ? Math.min(100, Math.abs((100 * p.value) / p.total)) : 0;
  const text = p.isChange ? change(p.value, kind.unit) : figure(p.value, kind.unit);
  return (
    <span
      class={`cost c-${p.cost}${p.value ? '' : ' zero'}${p.class ? ' ' + p.class : ''}`}
      role={p.isBare ? undefined : 'gridcell'}
      style={{ '--p': percent.toFixed(2) }}
      title={exact(p.value, kind.unit)}
    >
      <Num value={text} />
      {p.hasShare !== false && <span class="pc">{share(p.value, p.total)}</span>}
    </span>
  );
}

/* The five costs of one thing as bars, for the details panel and tooltips. */
export function CostBars(p: { cost: CostValues; total: CostValues; isChange?: boolean }) {
  const { cost, total } = p;
  const isFiltered = hasFilter(useAddress().params);
  return (
    <>
      <div class="costs">
        {COSTS.map((kind) => {
          const value = costOf(cost, kind.id);
          const whole = costOf(total, kind.id);
          const width = whole ? Math.min(100, Math.abs((100 * value) / whole)) : 0;
          return [
            <span key={kind.id} title={costHint(kind, isFiltered)}>
              {kind.name}
            </span>,
            <span class={`bar c-${kind.id}`}>
              <i style={{ width: width.toFixed(1) + '%' }} />
            </span>,
            <Num
              value={(p.isChange ? change : figure)(value, kind.unit)}
              title={exact(value, kind.unit)}
            />,
            <span class="pc">{p.isChange ? '' : share(value, whole)}</span>,
          ];
        })}
      </div>
      {isFiltered && <p class="dim where">Peak: when what matches the filters was largest.</p>}
    </>
  );
}
