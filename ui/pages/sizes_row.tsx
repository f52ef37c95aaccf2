/* A row of the table of Sizes. */
import type { Cost, GroupRow } from '../api/types';
import { costKind, costOf, type CostId, type CostKind } from '../model/costs';
import { culledShare } from '../model/culled';
import { duration } from '../model/format';
import { CostCell, Value } from '../widgets/figures';
import { Sym } from '../widgets/names';
import { Sparkline } from '../widgets/sparkline';

/* The second column of bytes: leaked, or peak where leaked is the cost. */
export const secondCost = (cost: CostId): CostId => (cost === 'leaked' ? 'peak' : 'leaked');

interface Context {
  kind: CostKind;
  total: Cost;
  fill: string; // token: the colour of the function in the histogram
}

/* `graph`: the same row with its graph, when that is here. */
export function sizeCells(r: GroupRow, graph: GroupRow | undefined, c: Context) {
  const second = costKind(secondCost(c.kind.id));
  return (
    <>
      <span role="gridcell" class="named">
        <span class="cat" style={{ background: `var(${c.fill})` }} />
        {r.blame ? (
          <Sym frame={r.blame} hasMark={false} />
        ) : (
          <span class="dim">{r.name ?? 'no stack'}</span>
        )}
      </span>
      <CostCell
        value={costOf(r.cost, c.kind.id)}
        total={costOf(c.total, c.kind.id)}
        cost={c.kind.id}
      />
      <span role="gridcell" class="r">
        <Value value={r.cost.bytes / Math.max(1, r.cost.allocations)} unit="bytes" />
      </span>
      <span role="gridcell" class="r">
        <Value value={costOf(r.cost, second.id)} unit={second.unit} />
      </span>
      <span role="gridcell" class="r">
        {r.mean_lifetime_ns !== null
          ? duration(r.mean_lifetime_ns)
          : culledShare(r.culled_count, r.cost.allocations) || 'never freed'}
      </span>
      <span role="gridcell" class="m2 gap graph">
        {graph?.timeline && <Sparkline alive={graph.timeline} leaked={graph.leaked_timeline} />}
      </span>
    </>
  );
}
