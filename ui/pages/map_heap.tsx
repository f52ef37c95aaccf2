/* The heap as cells: grey is free, tinted is used. Arrows move over the cells, a click chooses one. */
import { useCallback, useMemo, useState } from 'preact/hooks';
import type { Occupancy } from '../api/types';
import { bytes, clockDigits, join, plural, share } from '../model/format';
import {
  cellAddresses,
  cellAt,
  layOut,
  type CellLayout,
  type HeapRange,
} from '../model/heap_cells';
import { useClock } from '../state/clock';
import { useQuery } from '../state/query';
import { useRecording } from '../state/recordings';
import { hrefPage, setQuietly, useAddress } from '../state/router';
import { useCanvas, type Surface } from '../widgets/canvas';
import { showTip } from '../widgets/floating';
import { ErrorNote, Waiting } from '../widgets/notes';

const CELLS = 600;
const PX = 11; // a cell and its gap
const GAP = 1;

/* at null: the peak */
export function HeapCard({ at, words }: { at: number | null; words: string }) {
  const asked = useQuery<Occupancy>('occupancy', {
    cells: CELLS,
    at: at === null ? null : `+${Math.round(at)}ns`,
  });
  const { data } = asked;
  const clock = useClock();
  const digits = clockDigits(useRecording()?.duration_ns ?? 1);
  const used = data?.regions.reduce((sum, r) => sum + r.used_bytes, 0) ?? 0;
  const cell = data?.regions[0]?.cell_bytes ?? 0;
  return (
    <section class="card heap-card" aria-label="Heap occupancy">
      <header>
        <h2>Heap {words}</h2>
        {data && (
          <span class="dim">
            {at === null ? `${clock(data.at_ns, digits)}, ` : ''}
            <span title="Usable bytes of blocks, as the allocator rounds them up; elsewhere sizes are the bytes asked for">
              {join(bytes(used))} in use with rounding
            </span>
            {cell ? `, a cell is ${join(bytes(cell)).replace(/\.0+(?=\D)/, '')}` : ''}
          </span>
        )}
      </header>
      <Waiting asked={asked} what="Looking at the heap" />
      {asked.error && <ErrorNote error={asked.error} again={asked.again} />}
      {data && !asked.error && data.regions.length === 0 && (
        <p class="pad-note dim">
          Nothing that matches is alive {words}. Click on the timeline above to pin another moment.
        </p>
      )}
      {data && !asked.error && data.regions.length > 0 && (
        <Cells regions={data.regions} at={data.at_ns} isStale={asked.isStale} words={words} />
      )}
    </section>
  );
}

interface CellsProps {
  regions: Occupancy['regions'];
  at: number;
  isStale: boolean;
  words: string;
}

function Cells({ regions, at, isStale, words }: CellsProps) {
  const { params } = useAddress();
  const [columns, setColumns] = useState(40);
  const layout = useMemo(() => layOut(regions, columns), [regions, columns]);
  const chosen = Math.min(Number(params['cell'] ?? -1), layout.cells.length - 1);
  const draw = useCallback(
    (s: Surface) => {
      const fit = Math.max(1, Math.floor(s.width / PX));
      if (fit !== columns) setColumns(fit);
      else drawCells(s, regions, layout, chosen);
    },
    [regions, layout, columns, chosen],
  );
  const ref = useCanvas(draw);
  const at_ = (e: MouseEvent): number => {
    const box = ref.current?.getBoundingClientRect();
    if (!box) return -1;
    return cellAt(
      layout,
      Math.floor((e.clientX - box.left) / PX),
      Math.floor((e.clientY - box.top) / PX),
    );
  };
  const choose = (i: number) => setQuietly({ cell: i < 0 ? null : String(i) });
  const onKeyDown = (e: KeyboardEvent) => {
    const to = keyTarget(e.key, chosen, layout);
    if (to === undefined || e.ctrlKey || e.altKey || e.metaKey) return;
    e.preventDefault();
    choose(Math.max(0, Math.min(layout.cells.length - 1, to)));
  };
  return (
    <>
      <div class={'heap-cells' + (isStale ? ' stale' : '')}>
        <canvas
          ref={ref}
          style={{ height: layout.lines * PX }}
          tabIndex={0}
          role="slider"
          aria-label={`Heap ${words}: ${plural(layout.cells.length, 'cell')} in ${plural(regions.length, 'range')}`}
          aria-valuemin={0}
          aria-valuemax={layout.cells.length - 1}
          aria-valuenow={Math.max(0, chosen)}
          aria-valuetext={chosen < 0 ? 'no cell chosen' : cellWords(regions, layout, chosen)}
          onClick={(e) => choose(at_(e))}
          onPointerMove={(e) => {
            const i = at_(e);
            showTip(i < 0 ? null : cellWords(regions, layout, i), e);
          }}
          onPointerLeave={() => showTip(null)}
          onKeyDown={onKeyDown}
        />
      </div>
      <HeapFoot regions={regions} layout={layout} chosen={chosen} at={at} />
    </>
  );
}

function keyTarget(key: string, from: number, l: CellLayout): number | undefined {
  const c = l.cells[from];
  const vertical = (step: number) => {
    for (let x = c?.x ?? 0; c && x >= 0; x--) {
      const hit = cellAt(l, x, c.y + step);
      if (hit >= 0) return hit;
    }
    return from;
  };
  const moves: Record<string, () => number> = {
    ArrowRight: () => from + 1,
    ArrowLeft: () => from - 1,
    ArrowDown: () => vertical(1),
    ArrowUp: () => vertical(-1),
    Home: () => 0,
    End: () => l.cells.length - 1,
  };
  return moves[key]?.();
}

const rangeName = (r: HeapRange): string => r.name || 'anonymous memory';

function cellWords(regions: readonly HeapRange[], l: CellLayout, i: number): string {
  const c = l.cells[i];
  const r = c && regions[c.range];
  if (!c || !r) return '';
  const a = cellAddresses(r, c.index);
  const used = r.used[c.index] ?? 0;
  return `${a.first}, ${join(bytes(a.bytes))} of ${rangeName(r)}: ${share(used, 1) || 'nothing'} in use`;
}

/* The chosen cell in words, or what the colours mean. */
function HeapFoot(p: {
  regions: readonly HeapRange[];
  layout: CellLayout;
  chosen: number;
  at: number;
}) {
  const a = useAddress();
  const c = p.layout.cells[p.chosen];
  const r = c && p.regions[c.range];
  if (!c || !r)
    return (
      <p class="heap-foot dim">
        <span class="free cellmark" /> free <span class="full cellmark" /> in use
        <span class="wide">
          A gap lies between address ranges. Sizes are as the allocator rounds them up.
        </span>
      </p>
    );
  const range = cellAddresses(r, c.index);
  const filter = {
    address_min: range.first,
    address_max: range.last,
    alive_at: `+${p.at}ns`,
  };
  return (
    <p class="heap-foot">
      <span class="dim">{cellWords(p.regions, p.layout, p.chosen)}</span>
      <a class="link" href={hrefPage(a, 'allocations', filter)}>
        Show these blocks
      </a>
    </p>
  );
}

function drawCells(
  { g, token }: Surface,
  regions: readonly HeapRange[],
  l: CellLayout,
  chosen: number,
): void {
  const size = PX - GAP;
  l.cells.forEach((c, i) => {
    const used = regions[c.range]?.used[c.index] ?? 0;
    const [x, y] = [c.x * PX, c.y * PX];
    g.globalAlpha = 1;
    g.fillStyle = token('--bg-sunken');
    g.fillRect(x, y, size, size);
    if (used > 0) {
      g.globalAlpha = 0.15 + 0.85 * used;
      g.fillStyle = token('--a1');
      g.fillRect(x, y, size, size);
    }
    g.globalAlpha = 1;
    if (i === chosen) {
      g.strokeStyle = token('--accent');
      g.lineWidth = 2;
      g.strokeRect(x + 1, y + 1, size - 2, size - 2);
    }
  });
}
