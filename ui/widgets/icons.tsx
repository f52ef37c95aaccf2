/* The icons: 16 x 16, stroke 1.5, drawn on whole or half pixels. */

const SHAPES = {
  files: 'M2.5 4.5v7a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1v-5a1 1 0 0 0-1-1H8L6.5 3.5h-3a1 1 0 0 0-1 1z',
  grid: 'M2.5 2.5h4.5v5H2.5zM9 2.5h4.5v3H9zM9 7.5h4.5v6H9zM2.5 9.5h4.5v4H2.5z',
  chart: 'M2.5 2.5v11h11M4.5 10.5l3-4 2.5 2.5 3.5-5',
  flame: 'M2 3.5h12M2 8h8M2 12.5h4M12 8h2M8 12.5h2',
  up: 'M8 13.5v-10M4.5 6.5L8 3l3.5 3.5',
  down: 'M8 2.5v10M4.5 9.5L8 13l3.5-3.5',
  swap: 'M2.5 5.5h10M10 2.5l3 3-3 3M13.5 10.5h-10M6 7.5l-3 3 3 3',
  stack: 'M8 2.5l6 3-6 3-6-3zM2 8.5l6 3 6-3M2 11l6 3 6-3',
  list: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  bars: 'M3 13.5v-4M6.5 13.5v-9M10 13.5v-11M13.5 13.5v-6',
  threads: 'M4 2.5v3M4 8v5.5M8 2.5v6M8 11v2.5M12 2.5v2M12 7v6.5',
  chain: 'M2.5 5.5h3v5h-3zM7.5 4h4v8h-4zM13.5 3v10',
  map: 'M2.5 2.5h11v11h-11zM2.5 6h6M8.5 2.5v7M8.5 9.5h5M6 13.5v-4',
  code: 'M5.5 4L2 8l3.5 4M10.5 4L14 8l-3.5 4',
  prompt: 'M3 4l4 4-4 4M8.5 12.5h5',
  fn: 'M10.5 3c-1.6-.6-2.6.1-2.9 1.8L6.4 11.5c-.3 1.7-1.3 2.2-2.9 1.5M4.5 7h6',
  search: 'M2.5 7a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0M10.5 10.5l3 3',
  filter: 'M2.5 4h11M4.5 8h7M6.5 12h3',
  plus: 'M8 3.5v9M3.5 8h9',
  x: 'M4.5 4.5l7 7M11.5 4.5l-7 7',
  right: 'M6.5 4l4 4-4 4',
  caret: 'M4.5 6.5L8 10l3.5-3.5',
  more: 'M4.5 6L8 2.5 11.5 6M4.5 10L8 13.5l3.5-3.5',
  dots: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  link: 'M6.5 9.5l3-3M7 4.5l1.5-1.5a3 3 0 0 1 4.3 4.3L11.5 9M9 11.5L7.5 13a3 3 0 0 1-4.3-4.3L4.5 7',
  download: 'M8 2.5v8M4.5 7.5L8 11l3.5-3.5M2.5 13.5h11',
  palette: 'M2.5 4.5h5v3h-5zM8.5 4.5h5v3h-5zM2.5 8.5h8v3h-8z',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z',
  sun: 'M5.2 8a2.8 2.8 0 1 0 5.6 0a2.8 2.8 0 1 0 -5.6 0M8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9',
  check: 'M3.5 8.5l3 3 6-7',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.5l7 4.5-7 4.5z',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  edit: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z',
  pin: 'M8 9.5v4M5 9.5h6l-1-2.5v-4.5h-4V7z',
  back: 'M9.5 4l-4 4 4 4',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  gear: 'M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 1 0 0-5M8 2v1.8M8 12.2V14M2 8h1.8M12.2 8H14M3.8 3.8l1.3 1.3M10.9 10.9l1.3 1.3M12.2 3.8l-1.3 1.3M5.1 10.9l-1.3 1.3',
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="ico" viewBox="0 0 16 16" aria-hidden="true">
      <path d={SHAPES[name]} stroke-width={name === 'dots' ? 2.2 : undefined} />
    </svg>
  );
}
