/* The flame graph on screen as an SVG file: the same boxes, colours and texts, no script. Pure. */
import { eachVisible, ROW_PX, type Layout, type View } from './flame_layout';
import type { Fitted, Label } from './flame_label';

export interface SvgSource {
  layout: Layout;
  view: View;
  rows: number; // that are drawn
  width: number; // pixels
  title: string;
  font: string;
  background: string;
  text: string; // colour of the title
  fill: (position: number) => string;
  ink: (position: number) => string;
  crowd: string; // colour of boxes that are too narrow to be drawn
  label: (position: number) => Label;
  tip: (position: number) => string; // shown by browsers when the pointer rests
  fit: (label: Label, room: number) => Fitted;
}

const TITLE_PX = 28;
const PAD_PX = 5;
const MIN_ROOM_PX = 22;

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[^\t\n\r -\ufffd]/g, '');

const round = (v: number): number => Math.round(v * 100) / 100;

export function flameSvg(s: SvgSource): string {
  const height = TITLE_PX + s.rows * ROW_PX + 8;
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${s.width}" height="${height}" ` +
      `viewBox="0 0 ${s.width} ${height}" font-family="${escaped(s.font)}" font-size="11.5">`,
    `<rect width="100%" height="100%" fill="${s.background}"/>`,
    `<text x="${PAD_PX}" y="18" fill="${s.text}">${escaped(s.title)}</text>`,
  ];
  const y = (row: number) => TITLE_PX + row * ROW_PX;
  eachVisible(s.layout, s.view, s.width, [0, s.rows - 1], {
    box(p, row, left, right) {
      const width = Math.max(0.5, right - left - (right - left > 3 ? 1 : 0));
      out.push(
        `<g><title>${escaped(s.tip(p))}</title>` +
          `<rect x="${round(left)}" y="${y(row)}" width="${round(width)}" height="${ROW_PX - 1}" ` +
          `fill="${s.fill(p)}"/>`,
      );
      const room = right - left - 2 * PAD_PX;
      const fitted = room > MIN_ROOM_PX ? s.fit(s.label(p), room) : null;
      if (fitted?.text)
        out.push(
          `<text x="${round(left + PAD_PX)}" y="${y(row) + 14.5}" fill="${s.ink(p)}">` +
            `${escaped(fitted.text)}</text>`,
        );
      out.push('</g>');
    },
    crowd(row, left, right) {
      out.push(
        `<rect x="${round(left)}" y="${y(row)}" width="${round(right - left)}" ` +
          `height="${ROW_PX - 1}" fill="${s.crowd}"/>`,
      );
    },
  });
  return out.join('\n') + '\n</svg>\n';
}
