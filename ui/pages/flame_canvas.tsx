/* The canvas of the flame graph: drawing, pointer and arrow keys. What a gesture means is decided by
 * the page.
 *
 * The canvas is as large as the window onto the graph and stays in it while the graph scrolls below, so
 * that deep stacks need no tall canvas. Everything that moves (zoom, pan, hover) lives in refs and is
 * drawn once per frame; Preact renders only when the address changes.
 */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import {
  between,
  ease,
  hitTest,
  pannedView,
  ROW_PX,
  WHOLE,
  zoomedView,
  type View,
} from '../model/flame_layout';
import { stepFrom } from '../model/flame_step';
import { theme } from '../state/settings';
import { useSignal } from '../state/signal';
import { surfaceOf } from '../widgets/canvas';
import { drawFlame, PAD_TOP, type FlameScene } from '../widgets/flame_draw';

const ZOOM_MS = 160;
const TIP_MS = 120;
const SETTLE_MS = 200; // after the last move, a view goes into the address
const DRAG_PX = 3;

export interface FlameCanvasProps {
  scene: FlameScene;
  view: View;
  selected: number;
  label: string;
  onZoom: (node: number) => void; // click, Enter
  onCursor: (node: number) => void; // arrow keys
  onView: (view: View) => void; // wheel, drag: some time after the last move
  onTip: (node: number, at: { clientX: number; clientY: number } | null) => void; // -1: hide
  onMenu: (node: number, at: DOMRect, canvas: HTMLElement) => void;
}

const isStill = matchMedia('(prefers-reduced-motion: reduce)');

const isSame = (a: View, b: View): boolean =>
  Math.abs(a.from - b.from) + Math.abs(a.to - b.to) < 1e-9 * (a.to - a.from) + 1e-15;

/* What is drawn, apart from what Preact knows. */
class Live {
  canvas: HTMLCanvasElement | null = null;
  wrap: HTMLElement | null = null;
  view: View = WHOLE;
  cursor: number; // the selected node; keys change it before Preact has rendered
  hot = -1;
  hotX = 0;
  hotY = 0;
  private frame = 0;
  private motion = 0;
  private tipTimer = 0;
  private settleTimer = 0;

  constructor(public props: FlameCanvasProps) {
    this.cursor = props.selected;
  }

  redraw = (): void => {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  };

  draw(): void {
    const surface = this.canvas && surfaceOf(this.canvas);
    if (!surface) return;
    drawFlame(surface, this.props.scene, {
      view: this.view,
      scrollTop: this.wrap?.scrollTop ?? 0,
      hot: this.hot,
      cursor: this.cursor,
    });
  }

  /* The canvas is as high as the window onto the graph. */
  fitHeight(): void {
    if (this.canvas && this.wrap) this.canvas.style.height = `${this.wrap.clientHeight}px`;
  }

  /* Goes to a view: at once, or in 160 ms. */
  moveTo(to: View, isAnimated: boolean): void {
    cancelAnimationFrame(this.motion);
    const from = this.view;
    if (!isAnimated || isStill.matches || isSame(from, to)) {
      this.view = to;
      this.redraw();
      return;
    }
    const start = performance.now();
    const step = (now: number) => {
      const t = Math.min(1, (now - start) / ZOOM_MS);
      this.view = between(from, to, ease(t));
      this.draw();
      if (t < 1) this.motion = requestAnimationFrame(step);
    };
    this.motion = requestAnimationFrame(step);
  }

  /* A view that a gesture made. */
  show(view: View): void {
    cancelAnimationFrame(this.motion);
    this.view = view;
    this.hide();
    this.redraw();
    clearTimeout(this.settleTimer);
    this.settleTimer = window.setTimeout(() => this.props.onView(view), SETTLE_MS);
  }

  nodeAt(e: { clientX: number; clientY: number }): number {
    const box = this.canvas?.getBoundingClientRect();
    if (!box) return -1;
    const y = e.clientY - box.top + (this.wrap?.scrollTop ?? 0) - PAD_TOP;
    const { layout } = this.props.scene;
    const p = hitTest(layout, this.view, box.width, e.clientX - box.left, Math.floor(y / ROW_PX));
    return p < 0 ? -1 : (layout.node[p] ?? -1);
  }

  hover(e: PointerEvent): void {
    const node = this.nodeAt(e);
    [this.hotX, this.hotY] = [e.clientX, e.clientY];
    if (node === this.hot) return;
    this.hot = node;
    this.redraw();
    clearTimeout(this.tipTimer);
    this.props.onTip(-1, null);
    if (node > 0 && e.pointerType === 'mouse')
      this.tipTimer = window.setTimeout(
        () => this.props.onTip(node, { clientX: this.hotX, clientY: this.hotY }),
        TIP_MS,
      );
  }

  hide(): void {
    clearTimeout(this.tipTimer);
    this.props.onTip(-1, null);
    if (this.hot < 0) return;
    this.hot = -1;
    this.redraw();
  }

  /* Brings the row of a node onto the screen. */
  reveal(node: number): void {
    const { wrap } = this;
    if (!wrap || node < 0) return;
    const y = PAD_TOP + (this.props.scene.tree.depth[node] ?? 0) * ROW_PX;
    if (y < wrap.scrollTop) wrap.scrollTop = y - PAD_TOP;
    else if (y + ROW_PX > wrap.scrollTop + wrap.clientHeight)
      wrap.scrollTop = y + 2 * ROW_PX - wrap.clientHeight;
  }

  /* The box of a node in the window; for the menu that the keyboard opens. */
  boxOf(node: number): DOMRect {
    const { layout: l, tree } = this.props.scene;
    const box = this.canvas?.getBoundingClientRect() ?? new DOMRect();
    const p = l.position[node] ?? 0;
    const scale = box.width / (this.view.to - this.view.from);
    const left = Math.max(0, ((l.x[p] ?? 0) / l.total - this.view.from) * scale);
    const y = PAD_TOP + (tree.depth[node] ?? 0) * ROW_PX - (this.wrap?.scrollTop ?? 0);
    return new DOMRect(box.left + left, box.top + y, 0, ROW_PX);
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.motion);
    clearTimeout(this.tipTimer);
    clearTimeout(this.settleTimer);
    this.props.onTip(-1, null);
  }
}

export function FlameCanvas(p: FlameCanvasProps) {
  const ref = useRef<Live>();
  const live = (ref.current ??= new Live(p));
  if (live.props !== p) live.cursor = p.selected;
  live.props = p;
  const { scene, view, selected } = p;
  const laidOut = useRef(scene.layout);
  const now = useSignal(theme);

  useLayoutEffect(() => live.fitHeight(), []);
  useLayoutEffect(() => {
    const isNew = laidOut.current !== scene.layout;
    laidOut.current = scene.layout;
    live.moveTo(view, !isNew);
  }, [scene.layout, view.from, view.to]);
  useLayoutEffect(() => live.redraw(), [scene, selected, now]);
  useLayoutEffect(() => live.reveal(scene.zoomed), [scene.layout, scene.zoomed]);
  useLayoutEffect(() => live.reveal(selected), [selected]);
  useEffect(() => listen(live), []);

  const { layout } = scene;
  const rows = (layout.deepest[layout.position[scene.zoomed] ?? 0] ?? 0) + 1;
  return (
    <div class="flame-wrap" ref={(el) => void (live.wrap = el)}>
      <div style={{ height: `${2 * PAD_TOP + rows * ROW_PX}px` }}>
        <canvas
          ref={(el) => void (live.canvas = el)}
          class="flame"
          tabIndex={0}
          role="application"
          aria-label={p.label}
          onKeyDown={(e) => onKey(live, e)}
        />
      </div>
    </div>
  );
}

function onKey(live: Live, e: KeyboardEvent): void {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const { scene, onCursor, onZoom, onMenu } = live.props;
  const at = live.cursor >= 0 ? live.cursor : scene.zoomed;
  if (e.key === 'Enter') onZoom(at);
  else if (e.key === 'ContextMenu' || (e.key === 'F10' && e.shiftKey))
    onMenu(at, live.boxOf(at), e.currentTarget as HTMLElement);
  else if (e.key.startsWith('Arrow')) {
    const width = live.canvas?.clientWidth ?? 0;
    const to = stepFrom(scene.tree, scene.layout, live.view, width, at, e.key);
    if (to >= 0) {
      live.cursor = to;
      live.redraw();
      onCursor(to);
    }
  } else return;
  e.preventDefault();
}

/* Pointer, wheel, scrolling and size; returns what ends it. */
function listen(live: Live): () => void {
  const { canvas, wrap } = live;
  if (!canvas || !wrap) return () => {};
  const stop = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(
    el: HTMLElement,
    name: K,
    act: (e: HTMLElementEventMap[K]) => void,
    options: AddEventListenerOptions = {},
  ) => el.addEventListener(name, act, { ...options, signal: stop.signal });
  let drag: { x: number; view: View; isMoved: boolean } | null = null;

  on(canvas, 'pointerdown', (e) => {
    if (e.button === 0) drag = { x: e.clientX, view: live.view, isMoved: false };
  });
  on(canvas, 'pointermove', (e) => {
    if (!drag) return live.hover(e);
    const by = drag.x - e.clientX;
    if (!drag.isMoved && Math.abs(by) > DRAG_PX) {
      drag.isMoved = true;
      canvas.setPointerCapture(e.pointerId);
    }
    if (drag.isMoved) live.show(pannedView(drag.view, by / canvas.clientWidth));
  });
  on(canvas, 'pointerup', (e) => {
    const isClick = drag !== null && !drag.isMoved;
    drag = null;
    const node = isClick ? live.nodeAt(e) : -1;
    if (node < 0) return;
    live.hide();
    live.props.onZoom(node);
  });
  on(canvas, 'pointercancel', () => (drag = null));
  on(canvas, 'pointerleave', () => live.hide());
  on(canvas, 'contextmenu', (e) => {
    const node = live.nodeAt(e);
    if (node <= 0) return;
    e.preventDefault();
    live.hide();
    live.props.onMenu(node, new DOMRect(e.clientX, e.clientY, 0, 0), canvas);
  });
  on(canvas, 'wheel', (e) => onWheel(live, canvas, e), { passive: false });
  on(wrap, 'scroll', () => {
    live.hide();
    live.redraw();
  });
  const observer = new ResizeObserver(() => {
    live.fitHeight();
    live.draw(); // at once: a canvas of another size would be shown stretched
  });
  observer.observe(wrap);
  return () => {
    stop.abort();
    observer.disconnect();
    live.stop();
  };
}

/* Ctrl and wheel zoom at the pointer, sideways pans; anything else scrolls. */
function onWheel(live: Live, canvas: HTMLElement, e: WheelEvent): void {
  const box = canvas.getBoundingClientRect();
  if (e.ctrlKey || e.metaKey) {
    e.preventDefault();
    const at = (e.clientX - box.left) / box.width;
    live.show(zoomedView(live.view, at, Math.exp(e.deltaY * 0.002)));
    return;
  }
  const sideways = e.shiftKey ? e.deltaY || e.deltaX : e.deltaX;
  if (!sideways || live.view.to - live.view.from >= 1) return;
  e.preventDefault();
  live.show(pannedView(live.view, sideways / box.width));
}
