/* Finding functions in a flame graph. Pure.
 *
 * What matches is counted once: a match below another match adds nothing. That is the cost of all
 * stacks that have at least one matching frame.
 */
import type { FlameTree } from './flame_tree';
import { cleanName, codeName, escapeRegex, type FrameName } from './names';

export const HIT = 1; // the frame itself matches
export const INSIDE = 2; // something that calls it matches
export const LEADS = 4; // it calls something that matches

export interface Found {
  mark: Uint8Array; // by node: HIT, INSIDE and LEADS added up; 0: fades
  value: number; // of the outermost matches together
  nodes: number; // how many frames match
  heaviest: number; // the outermost match that costs most; -1: nothing matches
}

/* A regular expression, or the text itself, which may read like one (operator(), f[abi:cxx11]); case
 * does not matter. */
export function searchPattern(text: string): RegExp {
  const literal = escapeRegex(text);
  try {
    return new RegExp(literal === text ? text : `${text}|${literal}`, 'i');
  } catch {
    return new RegExp(literal, 'i');
  }
}

/* Function, package and source file are looked at. */
export const isMatch = (f: FrameName, pattern: RegExp): boolean =>
  pattern.test(f.function ? cleanName(f.function) : codeName(f)) ||
  (f.package !== undefined && pattern.test(f.package)) ||
  (f.source !== null && pattern.test(f.source));

/* value: what is counted, by node; width: which outermost match is the heaviest. */
export function search(
  t: FlameTree,
  pattern: RegExp,
  value: Float64Array,
  width: Float64Array = value,
): Found {
  const matches = t.names.map((f) => isMatch(f, pattern));
  const mark = new Uint8Array(t.n);
  const found: Found = { mark, value: 0, nodes: 0, heaviest: -1 };
  for (let i = 1; i < t.n; i++) {
    const above = mark[t.parent[i] ?? 0] ?? 0;
    const isInside = (above & (HIT | INSIDE)) !== 0;
    const isHit = matches[t.name[i] ?? -1] === true;
    mark[i] = (isHit ? HIT : 0) | (isInside ? INSIDE : 0);
    if (!isHit) continue;
    found.nodes++;
    if (isInside) continue;
    found.value += value[i] ?? 0;
    if (found.heaviest < 0 || (width[i] ?? 0) > (width[found.heaviest] ?? 0)) found.heaviest = i;
  }
  for (let i = t.n - 1; i > 0; i--) {
    if (mark[i]! & (HIT | LEADS)) mark[t.parent[i] ?? 0]! |= LEADS;
  }
  return found;
}
