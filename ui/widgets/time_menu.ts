/* What can be done with a moment: the menu at a right click on the strip or on a chart over time. */
import { isExported } from '../api/client';
import { momentOf, rangeOf, RANGE_MEANINGS } from '../model/filters';
import { address, goPage, set } from '../state/router';
import { openMenu, pointerBox, type MenuItem } from './floating';

const ns = (value: number): string => String(Math.max(0, Math.round(value)));
const moment = (value: number): string => `+${ns(value)}ns`;

/* `text`: the moment as the reader's clock writes it. */
function timeItems(at: number, text: string, runNs: number): MenuItem[] {
  const { params } = address.value;
  const range = rangeOf(params);
  const edges = (from: number, to: number) =>
    set({ t0: ns(Math.min(from, to)), t1: ns(Math.max(from, to)) });
  const ofRange: MenuItem[] = range
    ? [
        { label: 'In the range', isHeading: true },
        ...RANGE_MEANINGS.filter(([id]) => id !== 'grew').map(([id, , words]) => ({
          label: words,
          isChecked: id === range.meaning,
          act: () => set({ tm: id === 'in' ? null : id }),
        })),
        {
          label: 'Alive in the whole range',
          act: () =>
            set({
              t0: null,
              t1: null,
              tm: null,
              alive_at: moment(range.fromNs),
              alive_at_2: moment(range.toNs),
            }),
        },
        { label: 'What grew', act: () => goPage('timeline', { tm: 'grew' }) },
      ]
    : [];
  return [
    { label: `At ${text}`, isHeading: true },
    { label: 'Pin this moment', act: () => set({ at: ns(at) }) },
    { label: 'Only what was alive here', act: () => set({ alive_at: moment(at) }) },
    { label: 'Memory map of this moment', act: () => goPage('map', { at: ns(at) }) },
    { label: 'Begin the range here', hint: '[', act: () => edges(at, range?.toNs ?? runNs) },
    { label: 'End the range here', hint: ']', act: () => edges(range?.fromNs ?? 0, at) },
    ...(momentOf(params) === null
      ? []
      : [{ label: 'Remove the pin', act: () => set({ at: null }) }]),
    ...ofRange,
  ];
}

export function openTimeMenu(e: MouseEvent, at: number, text: string, runNs: number): void {
  if (isExported) return;
  e.preventDefault();
  openMenu(timeItems(at, text, runNs), pointerBox(e), null);
}
