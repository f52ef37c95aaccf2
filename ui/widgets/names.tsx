/* Frames and stacks on screen. */
import { useState } from 'preact/hooks';
import type { FrameText } from '../api/types';
import { count, join } from '../model/format';
import {
  frameFull,
  frameLocation,
  framePath,
  frameTitle,
  ownerOf,
  OWNER_WORDS,
} from '../model/names';
import { Icon } from './icons';

export function OwnerMark({ frame }: { frame: FrameText }) {
  const owner = ownerOf(frame.class);
  return <span class={'sw ' + owner} title={OWNER_WORDS[owner]} />;
}

interface SymProps {
  frame: FrameText;
  hasMark?: boolean; // default true
  hasLocation?: boolean; // default true
  hasPath?: boolean; // default true
}

/* Name, location, path: when room is short the path goes first, then the location. */
export function Sym({ frame, hasMark = true, hasLocation = true, hasPath = true }: SymProps) {
  const rest = [hasLocation ? frameLocation(frame) : '', hasPath ? framePath(frame) : ''];
  return (
    <span class="sym" title={frameFull(frame)}>
      {hasMark && <OwnerMark frame={frame} />}
      <span class="fn">{frameTitle(frame)}</span>
      <span class="rest">{rest.filter(Boolean).join('\u2002')}</span>
    </span>
  );
}

interface StackListProps {
  frames: readonly FrameText[]; // innermost first
  blame?: FrameText | null; // the frame to look at
  cost?: string; // its colour
  hasPath?: boolean;
  onFrame?: (frame: FrameText) => void;
}

/* A stack, innermost frame first; runs of runtime frames are folded until somebody opens them. */
export function StackList({
  frames,
  blame,
  cost = 'peak',
  hasPath = true,
  onFrame,
}: StackListProps) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const items = [];
  for (let i = 0; i < frames.length;) {
    let end = i;
    while (end < frames.length && ownerOf(frames[end]?.class ?? '') === 'run') end++;
    if (end > i && !open.has(i)) {
      const start = i;
      items.push(
        <Fold key={i} index={i} n={end - i} open={() => setOpen(new Set(open).add(start))} />,
      );
      i = end;
      continue;
    }
    const last = Math.max(end, i + 1);
    for (; i < last; i++) {
      const frame = frames[i];
      if (frame) items.push(frameItem(frame, i, isSame(frame, blame), { cost, hasPath, onFrame }));
    }
  }
  return <ol class="stack">{items}</ol>;
}

const isSame = (a: FrameText, b: FrameText | null | undefined): boolean =>
  !!b && a.function === b.function && a.address === b.address && a.line === b.line;

function Fold({ index, n, open }: { index: number; n: number; open: () => void }) {
  return (
    <li class="fold">
      <span class="i">{index}</span>
      <button type="button" title="Show these frames" onClick={open}>
        <Icon name="more" /> {join(count(n))} runtime frame{n > 1 ? 's' : ''}
      </button>
      <span />
    </li>
  );
}

function frameItem(
  frame: FrameText,
  index: number,
  isBlame: boolean,
  o: { cost: string; hasPath: boolean; onFrame?: (frame: FrameText) => void },
) {
  const sym = <Sym frame={frame} hasLocation={false} hasPath={o.hasPath} />;
  return (
    <li key={index} class={isBlame ? 'guilty c-' + o.cost : undefined}>
      <span class="i">{index}</span>
      {o.onFrame ? (
        <button type="button" class="frame" onClick={() => o.onFrame?.(frame)}>
          {sym}
        </button>
      ) : (
        sym
      )}
      <span class="loc">{frameLocation(frame)}</span>
    </li>
  );
}
