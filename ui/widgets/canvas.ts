/* Drawing on a canvas: sized in device pixels, drawn in CSS pixels, coloured by the CSS tokens. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { useSignal } from '../state/signal';
import { theme } from '../state/settings';

export interface Surface {
  g: CanvasRenderingContext2D;
  width: number;
  height: number;
  token: (name: string) => string;
}

let tokens: { of: string; values: Map<string, string> } = { of: '', values: new Map() };

/* Value of a CSS token in the current theme; looked up once per theme. */
export function token(name: string): string {
  const now = document.documentElement.dataset['theme'] ?? '';
  if (tokens.of !== now) tokens = { of: now, values: new Map() };
  let value = tokens.values.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    tokens.values.set(name, value);
  }
  return value;
}

export const font = (px: number, weight = 400): string => `${weight} ${px}px ${token('--font-ui')}`;

/* Fits the canvas to its box and clears it. null: the canvas has no size (hidden). */
export function surfaceOf(canvas: HTMLCanvasElement): Surface | null {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  const g = canvas.getContext('2d');
  if (!g || !width || !height) return null;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  return { g, width, height, token };
}

/* A canvas that is drawn again when its size, the theme or `draw` itself changes. Give `draw` through
 * useCallback. */
export function useCanvas(draw: (s: Surface) => void) {
  const ref = useRef<HTMLCanvasElement>(null);
  const now = useSignal(theme);
  const latest = useRef(draw);
  latest.current = draw;

  useLayoutEffect(() => {
    const surface = ref.current && surfaceOf(ref.current);
    if (surface) draw(surface);
  }, [draw, now]);
  useEffect(() => {
    const canvas = ref.current;
    if (!canvas) return undefined;
    const observer = new ResizeObserver(() => {
      const surface = surfaceOf(canvas);
      if (surface) latest.current(surface);
    });
    observer.observe(canvas);
    return () => observer.disconnect();
  }, []);
  return ref;
}

/* Text that stays readable over lines. */
export function haloText(s: Surface, text: string, x: number, y: number): void {
  s.g.save();
  s.g.lineWidth = 4;
  s.g.lineJoin = 'round';
  s.g.strokeStyle = s.token('--bg-view');
  s.g.strokeText(text, x, y);
  s.g.restore();
  s.g.fillText(text, x, y);
}

export function line(
  g: CanvasRenderingContext2D,
  xs: (i: number) => number,
  ys: (i: number) => number,
  n: number,
): void {
  g.beginPath();
  for (let i = 0; i < n; i++) {
    if (i) g.lineTo(xs(i), ys(i));
    else g.moveTo(xs(i), ys(i));
  }
}

export function area(
  g: CanvasRenderingContext2D,
  xs: (i: number) => number,
  ys: (i: number) => number,
  n: number,
  base: number,
): void {
  if (!n) return;
  g.beginPath();
  g.moveTo(xs(0), base);
  for (let i = 0; i < n; i++) g.lineTo(xs(i), ys(i));
  g.lineTo(xs(n - 1), base);
  g.closePath();
}
