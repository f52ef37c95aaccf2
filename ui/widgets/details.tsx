/* The details panel's frame: title, close, width. Its content belongs to the kind of the selection
 * (pages/index.tsx). */
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { isDetailsOpen } from '../state/details';
import { change, settings } from '../state/settings';
import { useSignal } from '../state/signal';
import { Icon } from './icons';

const MIN_PX = 260;
const MAX_PX = 720;

export function DetailsFrame({ title, children }: { title: string; children: ComponentChildren }) {
  const { detailsWidth } = useSignal(settings);
  const isOpen = useSignal(isDetailsOpen);
  const ref = useRef<HTMLElement>(null);
  const resize = (e: PointerEvent) => {
    const startX = e.clientX;
    const startWidth = ref.current?.offsetWidth ?? detailsWidth;
    const move = (m: PointerEvent) => {
      const width = Math.max(MIN_PX, Math.min(MAX_PX, startWidth + startX - m.clientX));
      change({ detailsWidth: width });
    };
    const up = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', up);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', up);
    e.preventDefault();
  };
  if (!isOpen) return null;
  return (
    <aside
      class="details open"
      aria-label={`Details: ${title}`}
      ref={ref}
      style={{ '--details-w': `${detailsWidth}px` }}
    >
      <div class="details-grip" onPointerDown={resize} title="Drag to resize" />
      <div class="details-head">
        <h2>{title}</h2>
        <button
          type="button"
          class="btn quiet icon"
          aria-label="Close details"
          title="Close (D)"
          onClick={() => isDetailsOpen.set(false)}
        >
          <Icon name="x" />
        </button>
      </div>
      <div class="details-body" tabIndex={0}>
        {children}
      </div>
    </aside>
  );
}

/* A titled part of the panel. */
export function Block(p: {
  title?: ComponentChildren;
  right?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="block">
      {p.title && (
        <h3>
          {p.title}
          {p.right && <span class="push">{p.right}</span>}
        </h3>
      )}
      {p.children}
    </section>
  );
}
