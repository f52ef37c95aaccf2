/* Small controls that pages share: the cost switch, segments, a find field, a foot. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { costHint, COSTS, type CostId } from '../model/costs';
import { clockDigits } from '../model/format';
import { hasFilter, momentOf } from '../model/filters';
import { useClock } from '../state/clock';
import { set, useAddress, useCost } from '../state/router';
import { useKeys } from '../state/keys';
import { Icon } from './icons';

interface SegmentsProps<T extends string> {
  label: string;
  options: readonly { id: T; name: ComponentChildren; hint?: string; class?: string }[];
  value: T;
  onChange: (id: T) => void;
  class?: string;
}

/* One of a few. */
export function Segments<T extends string>(p: SegmentsProps<T>) {
  return (
    <div class={`seg ${p.class ?? ''}`} role="group" aria-label={p.label}>
      {p.options.map((o) => (
        <button
          key={o.id}
          type="button"
          class={o.class}
          title={o.hint}
          aria-pressed={o.id === p.value}
          onClick={() => p.onChange(o.id)}
        >
          {o.name}
        </button>
      ))}
    </div>
  );
}

/* The cost of the page, in the address. With a pinned moment there is a sixth: alive at it. `only`
 * leaves costs out that a page cannot show; `clears` names parameters that a choice removes. */
export function CostSwitch({
  only,
  hasMoment = false,
  clears = [],
}: {
  only?: readonly CostId[];
  hasMoment?: boolean;
  clears?: readonly string[];
}) {
  const cost = useCost();
  const { params } = useAddress();
  const clock = useClock();
  const pin = momentOf(params);
  const isMoment = hasMoment && pin !== null && params['moment'] === '1';
  const kinds = COSTS.filter((c) => !only || only.includes(c.id));
  const choose = (id: string) =>
    set({
      ...Object.fromEntries(clears.map((name) => [name, null])),
      cost: id === 'moment' ? null : id,
      moment: id === 'moment' ? '1' : null,
    });
  useKeys(
    Object.fromEntries([
      ...kinds.map((c) => [String(COSTS.indexOf(c) + 1), () => choose(c.id)] as const),
      ...(hasMoment && pin !== null ? [['6', () => choose('moment')] as const] : []),
    ]),
  );
  const options = kinds.map((c) => ({
    id: c.id as string,
    class: `c-${c.id}`,
    hint: costHint(c, hasFilter(params)),
    name: (
      <>
        <span class="tick" />
        {c.name}
      </>
    ),
  }));
  if (hasMoment && pin !== null)
    options.push({
      id: 'moment',
      class: 'c-peak',
      hint: 'Bytes alive at the pinned moment',
      name: <>Alive at {clock(pin, clockDigits(pin))}</>,
    });
  return (
    <Segments label="Cost" options={options} value={isMoment ? 'moment' : cost} onChange={choose} />
  );
}

/* Where a table has no room for more than one cost: the choice that its heads are elsewhere. */
export const NarrowCostSwitch = () => (
  <span class="only-narrow">
    <CostSwitch clears={['order']} />
  </span>
);

interface FindFieldProps {
  label: string;
  value: string;
  onChange: (text: string) => void; // 150 ms after the last key
  hit?: string; // at the end of the field: what was found
  class?: string;
  isBad?: boolean;
  onEnter?: () => void;
  title?: string;
  isBox?: boolean; // one of several: without the icon, and without the key unless hasKey says so
  hasKey?: boolean; // default: not a box
}

const DEBOUNCE_MS = 150;

/* The page's find field, or one of several boxes that filter; "/" goes there, Escape empties it. */
export function FindField(p: FindFieldProps) {
  const ref = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(p.value);
  const timer = useRef(0);
  useEffect(() => setText(p.value), [p.value]);
  useKeys((p.hasKey ?? !p.isBox) ? { '/': () => ref.current?.focus() } : {});
  const onInput = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => p.onChange(next), DEBOUNCE_MS);
  };
  return (
    <label class={`field ${p.class ?? ''}${p.isBad ? ' bad' : ''}`} title={p.title}>
      {!p.isBox && <Icon name="search" />}
      <input
        ref={ref}
        aria-invalid={p.isBad}
        value={text}
        placeholder={p.label}
        aria-label={p.label}
        spellcheck={false}
        onInput={(e) => onInput(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === 'Enter') p.onEnter?.();
          if (e.key !== 'Escape') return;
          e.preventDefault();
          e.stopPropagation();
          onInput('');
          e.currentTarget.blur();
        }}
      />
      {p.hit && <span class="hit">{p.hit}</span>}
    </label>
  );
}

/* Below a table: how many rows, and one hint. */
export function Foot({ left, right }: { left: ComponentChildren; right?: ComponentChildren }) {
  return (
    <footer class="foot">
      <span>{left}</span>
      {right && <span>{right}</span>}
    </footer>
  );
}
