/* Times for which a recording has no data: recording was switched off, or events are missing. Pure. */

export interface Gap {
  kind: string; // 'off', 'missing'
  from_ns: number;
  to_ns: number;
}

export const gapAt = (gaps: readonly Gap[], ns: number): Gap | null =>
  gaps.find((g) => ns >= g.from_ns && ns < g.to_ns) ?? null;

/* "Recording off", where the pointer is. */
export const gapWord = (g: Gap): string =>
  g.kind === 'off' ? 'recording switched off' : 'events missing';

/* Each gap in words, for readers of the screen. clock writes a moment. */
export function gapList(gaps: readonly Gap[], clock: (ns: number) => string): string {
  return gaps
    .map((g) => {
      const when = `from ${clock(g.from_ns)} to ${clock(g.to_ns)}`;
      return g.kind === 'off'
        ? `Recording was switched off ${when}.`
        : `Events are missing ${when}.`;
    })
    .join(' ');
}

/* Where events are missing, as a sentence of the banner. '': nobody knows. */
export function missingSentence(gaps: readonly Gap[], clock: (ns: number) => string): string {
  const missing = gaps.filter((g) => g.kind === 'missing');
  const longest = [...missing].sort((a, b) => b.to_ns - b.from_ns - (a.to_ns - a.from_ns))[0];
  if (!longest) return '';
  const between = `between ${clock(longest.from_ns)} and ${clock(longest.to_ns)}`;
  return missing.length === 1
    ? `Events ${between} are missing, shown hatched on the timeline.`
    : `Events are missing in ${missing.length} places, the longest ${between}, shown hatched on the timeline.`;
}

/* The moments at which recording was switched off, and on again; not the end of a run that ended so. */
export interface Flag {
  ns: number;
  isOn: boolean;
}
export const flagsOf = (gaps: readonly Gap[], runNs: number): Flag[] =>
  gaps
    .filter((g) => g.kind === 'off')
    .flatMap((g) => [
      { ns: g.from_ns, isOn: false },
      ...(g.to_ns < runNs ? [{ ns: g.to_ns, isOn: true }] : []),
    ]);
