/* What stands in a box of the flame graph. Pure: measuring text is a function that is passed in.
 *
 * The whole path where it fits, else the last two parts, else these cut, else nothing.
 */
import { codeName, splitName, type FrameName } from './names';

const ELLIPSIS = '…';
const MIN_CHARS = 2; // fewer letters say nothing
const MAX_KEPT = 20_000; // texts; more are measured again

export interface Label {
  whole: string;
  short: string;
}

/* folded: how many frames the box stands for. */
export function labelOf(f: FrameName, folded: number): Label {
  const [path, last] = f.function ? splitName(f.function) : ['', codeName(f)];
  if (!folded) return { whole: path + last, short: last };
  const many = ` · ${folded} frame${folded > 1 ? 's' : ''}`;
  return { whole: path + last + many, short: last + many };
}

export interface Fitted {
  text: string; // empty: there is no room
  width: number;
}

const NOTHING: Fitted = { text: '', width: 0 };

/* Widths of texts in one font. A letter is measured once and a text once; cutting a text measures
 * nothing. Kerning is left out, which makes texts a little wider than they are. */
export class TextWidths {
  private letters = new Map<string, number>();
  private texts = new Map<string, Float32Array>();

  constructor(private measure: (text: string) => number) {}

  private letter(c: string): number {
    let width = this.letters.get(c);
    if (width === undefined) this.letters.set(c, (width = this.measure(c)));
    return width;
  }

  /* The widths of all beginnings of a text. */
  private beginnings(text: string): Float32Array {
    const known = this.texts.get(text);
    if (known) return known;
    if (this.texts.size >= MAX_KEPT) this.texts.clear();
    const widths = new Float32Array(text.length + 1);
    for (let i = 0; i < text.length; i++)
      widths[i + 1] = (widths[i] ?? 0) + this.letter(text[i] ?? '');
    this.texts.set(text, widths);
    return widths;
  }

  width(text: string): number {
    return this.beginnings(text)[text.length] ?? 0;
  }

  /* The text, or as much of its beginning as there is room for. */
  cut(text: string, room: number): Fitted {
    const widths = this.beginnings(text);
    const all = widths[text.length] ?? 0;
    if (all <= room) return { text, width: all };
    const left = room - this.letter(ELLIPSIS);
    let low = 0;
    let high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((widths[middle] ?? 0) <= left) low = middle;
      else high = middle - 1;
    }
    if (low < MIN_CHARS) return NOTHING;
    return { text: text.slice(0, low) + ELLIPSIS, width: (widths[low] ?? 0) + room - left };
  }

  fit(label: Label, room: number): Fitted {
    const width = this.width(label.whole);
    return width <= room ? { text: label.whole, width } : this.cut(label.short, room);
  }
}
