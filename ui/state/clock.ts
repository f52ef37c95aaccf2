/* Moments as the reader wants them: since the start of the recording, or as wall clock (a setting).
 *
 * Components write moments with `useClock()`, never with model/format's `clock` (eslint refuses that), so
 * that the setting holds everywhere. Axes take the origin of `useClockOrigin()` for timeTicks and timeLabel.
 * All hooks are about the recording of the address.
 */
import { useMemo } from 'preact/hooks';
import {
  clock,
  clockDigits,
  duration,
  parseMoment,
  parseWallTime,
  sinceMidnight,
  wallClock,
  wallTime,
  type ClockText,
} from '../model/format';
import { useRecording } from './recordings';
import { settings } from './settings';
import { useSignal } from './signal';

/* When the recording of the address began, if moments are to be shown as wall clock; else null. */
function useWallStart(): number | null {
  const { wallClock: isWanted } = useSignal(settings);
  const start = useRecording()?.start_ns ?? 0;
  return isWanted && start > 0 ? start : null;
}

/* Writes a moment: same parameters as `clock` of model/format. The function changes only with the setting
 * and the recording. */
export function useClock(): ClockText {
  const start = useWallStart();
  return useMemo(
    () => (start === null ? clock : (ns: number, digits = 0) => wallTime(start, ns, digits)),
    [start],
  );
}

/* What the clock shows at the start of the recording, for round ticks of an axis; null: moments are
 * counted from the start. */
export function useClockOrigin(): number | null {
  const start = useWallStart();
  return start === null ? null : sinceMidnight(start);
}

/* For a tooltip: the moment in full, both ways. */
export function useClockTitle(): (ns: number) => string {
  const start = useRecording()?.start_ns ?? 0;
  return (ns) => {
    const since = `${clock(ns, clockDigits(ns))} since the start (${duration(ns)})`;
    return start ? `${wallClock(start, ns)}, ${since}` : since;
  };
}

/* Reads what somebody typed: 04:52:17, 52:17, 80 %, 250ms; with wall clock 04:52:17 is a time of day. */
export function useMomentParser(): (text: string) => number | null {
  const start = useWallStart();
  const runNs = useRecording()?.duration_ns ?? 0;
  return useMemo(
    () => (text: string) =>
      (start === null ? null : parseWallTime(text, start)) ?? parseMoment(text, runNs),
    [start, runNs],
  );
}
