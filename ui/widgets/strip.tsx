/* The timeline strip: the time filter of every page. Drag selects a range, a click pins a moment, the
 * wheel zooms the strip's own axis, double click clears. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Buckets, Recording, Samples, Summary } from '../api/types';
import { bytes, clockDigits, duration, type ClockText } from '../model/format';
import { momentOf, rangeOf } from '../model/filters';
import { gapAt, gapList, gapWord } from '../model/gaps';
import {
  CLICK_PX,
  clampView,
  dragged,
  gripAt,
  moved,
  nsOf,
  runningSum,
  sampleAge,
  valueAt,
  widened,
  xOf,
  zoomView,
  type Grip,
  type Span,
} from '../model/strip';
import { useClock, useClockOrigin, useClockTitle } from '../state/clock';
import { useQuery, useUrl } from '../state/query';
import { holdStill } from '../state/recordings';
import { set, setQuietly, useAddress } from '../state/router';
import { Signal, useSignal } from '../state/signal';
import { apiUrl, isExported } from '../api/client';
import { useCanvas, type Surface } from './canvas';
import { Num } from './figures';
import { drawStrip, type StripData } from './strip_draw';
import { openTimeMenu } from './time_menu';

/* The moment under the pointer, shared with the charts of the Timeline page. */
export const crosshairNs = new Signal<number | null>(null);

const POINTS = 1000;
const POINTS_ASKED = { buckets: POINTS, round: true }; // of the recording's own table
const QUERY_EVERY_MS = 250; // while dragging

interface Drag {
  grip: Grip;
  startX: number;
  startNs: number;
  before: Span | null;
  isMoved: boolean;
  queriedAt: number;
}

function useStripData(r: Recording, view: Span, isZoomed: boolean): StripData | null {
  const window = isZoomed
    ? { from: `+${Math.round(view.fromNs)}ns`, to: `+${Math.round(view.toNs)}ns`, ...POINTS_ASKED }
    : POINTS_ASKED;
  const whole = useQuery<Buckets>('timeline', POINTS_ASKED, { isFiltered: false });
  const zoomed = useQuery<Buckets>('timeline', window, { isFiltered: false, isReady: isZoomed });
  const samples = useQuery<Samples>('samples', {}, { isFiltered: false });
  const summary = useQuery<Summary>('summary', {}, { isFiltered: false });
  const baseId = useAddress().params['base'];
  const base = useUrl<Buckets>(baseId ? apiUrl(`${baseId}/timeline`, { buckets: POINTS }) : null);
  const shown = isZoomed && zoomed.data ? zoomed.data : whole.data;
  return useMemo(() => {
    if (!shown || !whole.data) return null;
    const before = whole.data.leaked_bytes
      .slice(0, Math.floor(shown.from_ns / whole.data.bucket_ns))
      .reduce((a, b) => a + b, 0);
    return {
      fromNs: shown.from_ns,
      bucketNs: shown.bucket_ns,
      heap: shown.max_bytes,
      neverFreed: runningSum(shown.leaked_bytes, before),
      rssAt: samples.data?.at_ns ?? [],
      rss: samples.data?.rss_bytes ?? [],
      peakNs: summary.data?.peak_ns ?? 0,
      peakBytes: r.peak_bytes ?? 0,
      runNs: r.duration_ns ?? 1,
      markers: summary.data?.markers ?? [],
      gaps: summary.data?.gaps ?? [],
      baseline: base.data ? { bucketNs: base.data.bucket_ns, heap: base.data.max_bytes } : null,
    };
  }, [shown, whole.data, samples.data, summary.data, r.peak_bytes, r.duration_ns, base.data]);
}

export function Strip({ recording }: { recording: Recording }) {
  const { params } = useAddress();
  const runNs = Math.max(1, recording.duration_ns ?? 1);
  const [zoom, setZoom] = useState<Span | null>(null);
  const [live, setLive] = useState<Span | null>(null); // the range while it is dragged
  const view = clampView(zoom ?? { fromNs: 0, toNs: runNs }, runNs);
  const data = useStripData(recording, view, zoom !== null);
  const range = live ?? rangeOf(params);
  const pinNs = momentOf(params);
  const hoverNs = useSignal(crosshairNs);
  const originNs = useClockOrigin();
  const clock = useClock();
  const draw = useCallback(
    (s: Surface) => {
      if (data) drawStrip(s, data, { view, range, pinNs, hoverNs, originNs });
    },
    [data, view.fromNs, view.toNs, range?.fromNs, range?.toNs, pinNs, hoverNs, originNs],
  );
  const canvas = useCanvas(draw);
  useEffect(() => setZoom(null), [recording.id]);

  const chart = useStripPointer({ view, range: rangeOf(params), runNs, setLive, setZoom, clock });
  return (
    <section class="strip" aria-label="Timeline. Drag to select a time range for all pages.">
      <Legend data={data} hoverNs={hoverNs} range={range} />
      <div
        ref={chart}
        class="strip-chart"
        tabIndex={0}
        role="group"
        aria-label="Time range. Arrow keys move it, Shift and arrow keys widen it, Home and End jump."
        onKeyDown={(e) => onStripKey(e, rangeOf(params), runNs)}
      >
        <canvas ref={canvas} aria-hidden="true" />
        {data && data.markers.length > 0 && <Markers data={data} />}
        {data && data.gaps.length > 0 && <Gaps data={data} />}
        {range && <RangeMark range={range} view={view} runNs={runNs} />}
      </div>
    </section>
  );
}

/* The ticks of the drawing in words. */
function Markers({ data }: { data: StripData }) {
  const clock = useClock();
  const digits = clockDigits(data.runNs);
  return (
    <span class="sr-only markers">
      Markers of the program:{' '}
      {data.markers.map((m) => `${m.value} at ${clock(m.at_ns, digits)}`).join(', ')}
    </span>
  );
}

/* The hatching in words. */
function Gaps({ data }: { data: StripData }) {
  const clock = useClock();
  const digits = clockDigits(data.runNs);
  return <span class="sr-only gaps">{gapList(data.gaps, (ns) => clock(ns, digits))}</span>;
}

function RangeMark({ range, view, runNs }: { range: Span; view: Span; runNs: number }) {
  const left = xOf(view, range.fromNs, 100);
  const right = xOf(view, range.toNs, 100);
  const digits = clockDigits(Math.min(range.toNs - range.fromNs, runNs));
  const clock = useClock();
  const slider = (ns: number, name: string) => (
    <span
      class="sr-only"
      role="slider"
      aria-label={name}
      aria-valuemin={0}
      aria-valuemax={runNs}
      aria-valuenow={ns}
      aria-valuetext={clock(ns, digits)}
    />
  );
  return (
    <div
      class="strip-range"
      style={{
        left: `${Math.max(0, left)}%`,
        width: `${Math.min(100, right) - Math.max(0, left)}%`,
      }}
    >
      {slider(range.fromNs, 'Start of the range')}
      {slider(range.toNs, 'End of the range')}
      <span class="strip-label">
        {clock(range.fromNs, digits)} to {clock(range.toNs, digits)},{' '}
        {duration(range.toNs - range.fromNs)}
      </span>
    </div>
  );
}

function Legend(p: { data: StripData | null; hoverNs: number | null; range: Span | null }) {
  const { data, hoverNs, range } = p;
  const clock = useClock();
  const title = useClockTitle();
  if (!data) return <div class="strip-legend" />;
  const bucket = (ns: number) =>
    Math.max(0, Math.min(data.heap.length - 1, Math.floor((ns - data.fromNs) / data.bucketNs)));
  const at =
    hoverNs ?? (range ? highest(data, bucket(range.fromNs), bucket(range.toNs)) : data.peakNs);
  const digits = clockDigits(data.runNs);
  const i = bucket(at);
  const isPeak = hoverNs === null && !range;
  const heap = isPeak ? data.peakBytes : (data.heap[i] ?? 0);
  const rss = valueAt(data.rssAt, data.rss, at);
  const age = sampleAge(data.rssAt, at, data.bucketNs * data.heap.length);
  const gap = hoverNs === null ? null : gapAt(data.gaps, hoverNs);
  const when = hoverNs !== null ? '' : range ? 'Range peak, ' : 'At the peak, ';
  return (
    <div class="strip-legend" aria-live="off">
      <span class="moment" title={title(at)}>
        {when + (digits > 3 ? duration(at) : clock(at, digits))}
      </span>
      <span class="tick c-peak" />
      <span>Heap</span>
      <Num value={bytes(heap)} />
      <span class="tick c-leaked" />
      <span>Leaked</span>
      <Num value={bytes(data.neverFreed[i] ?? 0)} />
      <span class="tick c-rss" />
      <span>
        RSS
        {age !== 0 && (
          <span class="far" title="RSS is sampled every 100 ms: this is how far off the sample is">
            {age > 0 ? ' −' : ' +'}
            {duration(Math.abs(age))}
          </span>
        )}
      </span>
      {rss === null ? <span class="dim">none</span> : <Num value={bytes(rss)} />}
      {gap && <span class="no-data">{gapWord(gap)}</span>}
    </div>
  );
}

/* The middle of the bucket in [from, to] whose heap is largest. */
function highest(data: StripData, from: number, to: number): number {
  let best = from;
  for (let i = from; i <= to; i++) if ((data.heap[i] ?? 0) > (data.heap[best] ?? 0)) best = i;
  return data.fromNs + (best + 0.5) * data.bucketNs;
}

const inAddress = (r: Span | null) => ({
  t0: r ? String(Math.round(r.fromNs)) : null,
  t1: r ? String(Math.round(r.toNs)) : null,
});

interface PointerTask {
  view: Span;
  range: Span | null;
  runNs: number;
  setLive: (r: Span | null) => void;
  setZoom: (v: Span | null) => void;
  clock: ClockText;
}

/* Pointer and wheel on the chart. */
function useStripPointer(task: PointerTask) {
  const ref = useRef<HTMLDivElement>(null);
  const latest = useRef(task);
  latest.current = task;
  useEffect(() => {
    const el = ref.current;
    if (!el || isExported) return undefined;
    let drag: Drag | null = null;
    let release = () => {};
    const position = (e: PointerEvent | WheelEvent | MouseEvent) => {
      const box = el.getBoundingClientRect();
      const x = e.clientX - box.left;
      return { x, ns: nsOf(latest.current.view, x, box.width), width: box.width };
    };
    const down = (e: PointerEvent) => {
      if (e.button !== 0) return;
      const { x, ns, width } = position(e);
      const { range, view } = latest.current;
      const grip = gripAt(range, view, x, width);
      drag = { grip, startX: x, startNs: ns, before: range, isMoved: false, queriedAt: 0 };
      release = holdStill();
      el.setPointerCapture(e.pointerId);
    };
    const move = (e: PointerEvent) => {
      const { x, ns, width } = position(e);
      const { range, view, runNs, setLive } = latest.current;
      if (!drag) {
        crosshairNs.set(ns);
        el.dataset['grip'] = gripAt(range, view, x, width);
        return;
      }
      drag.isMoved ||= Math.abs(x - drag.startX) > CLICK_PX;
      if (!drag.isMoved) return;
      const next = dragged(drag.grip, drag.before, drag.startNs, ns, runNs);
      setLive(next);
      if (Date.now() - drag.queriedAt > QUERY_EVERY_MS) {
        drag.queriedAt = Date.now();
        setQuietly(inAddress(next));
      }
    };
    const up = (e: PointerEvent) => {
      if (!drag) return;
      const { ns } = position(e);
      const { runNs, setLive } = latest.current;
      if (drag.isMoved) set(inAddress(dragged(drag.grip, drag.before, drag.startNs, ns, runNs)));
      else set({ at: String(ns) });
      setLive(null);
      drag = null;
      release();
    };
    const leave = () => {
      if (!drag) crosshairNs.set(null);
    };
    const clear = () => {
      latest.current.setZoom(null);
      set({ ...inAddress(null), tm: null, at: null });
    };
    const wheel = (e: WheelEvent) => {
      const { view, runNs, setZoom } = latest.current;
      e.preventDefault();
      const next = zoomView(view, position(e).ns, Math.exp(e.deltaY * 0.002), runNs);
      setZoom(next.toNs - next.fromNs >= runNs * 0.999 ? null : next);
    };
    const menu = (e: MouseEvent) => {
      const { ns } = position(e);
      const { runNs, clock } = latest.current;
      openTimeMenu(e, ns, clock(ns, clockDigits(runNs)), runNs);
    };
    el.addEventListener('contextmenu', menu);
    el.addEventListener('pointerdown', down);
    el.addEventListener('pointermove', move);
    el.addEventListener('pointerup', up);
    el.addEventListener('pointerleave', leave);
    el.addEventListener('dblclick', clear);
    el.addEventListener('wheel', wheel, { passive: false });
    return () => {
      release();
      el.removeEventListener('contextmenu', menu);
      el.removeEventListener('pointerdown', down);
      el.removeEventListener('pointermove', move);
      el.removeEventListener('pointerup', up);
      el.removeEventListener('pointerleave', leave);
      el.removeEventListener('dblclick', clear);
      el.removeEventListener('wheel', wheel);
    };
  }, []);
  return ref;
}

/* Arrows move the range, Shift and arrows widen it, Home and End jump. */
function onStripKey(e: KeyboardEvent, range: Span | null, runNs: number): void {
  if (isExported) return;
  const step = runNs / 100;
  const now = range ?? { fromNs: runNs * 0.45, toNs: runNs * 0.55 };
  const width = now.toNs - now.fromNs;
  const grow = e.key === 'ArrowRight' ? step : -step;
  let next: Span | null = null;
  if (e.key === 'ArrowLeft' || e.key === 'ArrowRight')
    next = e.shiftKey ? widened(now, grow, runNs) : moved(now, grow, runNs);
  else if (e.key === 'Home') next = { fromNs: 0, toNs: width };
  else if (e.key === 'End') next = { fromNs: runNs - width, toNs: runNs };
  if (!next) return;
  e.preventDefault();
  e.stopPropagation();
  setQuietly(inAddress(next));
}
