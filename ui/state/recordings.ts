/* The recordings of the server, and whether the server answers.
 *
 * The list is asked for every two seconds while a recording is loading, growing or the server is
 * away; otherwise once. A growing recording has a `version` that changes with its figures: queries
 * carry the version in their keys, so that they are asked again when there is more.
 *
 * A growing recording stands still while the reader pauses it, and while the reader is in the middle of
 * something that new figures would disturb (holdStill): dragging a range, editing a filter.
 */
import { apiUrl, ApiError, ask, isExported } from '../api/client';
import type { Recording, Recordings } from '../api/types';
import { address } from './router';
import { Signal, useSignal } from './signal';

const POLL_MS = 2000;
const RETRY_MS = [1000, 2000, 4000, 8000];

export interface Connection {
  isRefused?: boolean; // the server wants a token that this address does not have
  isAway: boolean;
  retryAt: number; // when the next try begins, as Date.now()
}

export const recordings = new Signal<Recording[] | null>(null); // null: not known yet
export const version = new Signal<string>(''); // of the server
export const connection = new Signal<Connection>({ isAway: false, retryAt: 0 });
export const isPaused = new Signal(false); // the reader stopped the live updates

let failures = 0;
let timer = 0;
let holds = 0; // how many things want growing recordings to stand still

export async function refresh(): Promise<void> {
  clearTimeout(timer);
  try {
    const answer = await ask<Recordings>(apiUrl('recordings'));
    failures = 0;
    version.set(answer.version);
    setIfChanged(standingStill(answer.recordings));
    connection.set({ isAway: false, retryAt: 0 });
    if (answer.recordings.some(isChanging)) timer = window.setTimeout(refresh, POLL_MS);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) {
      connection.set({ isRefused: true, isAway: false, retryAt: 0 });
      return;
    }
    const wait = RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)] ?? 8000;
    connection.set({ isAway: true, retryAt: Date.now() + wait });
    timer = window.setTimeout(refresh, wait);
  }
}

/* A query got no answer: looks at once whether the server is away. If so, the frame says it, and queries are
 * asked again when the server is back; if not, only that query failed. */
export async function reportAway(): Promise<{ isAway: boolean }> {
  if (!connection.value.isAway && !isExported) await refresh();
  return connection.value;
}

/* Growing recordings stay as they are until the function that comes back is called. */
export function holdStill(): () => void {
  holds++;
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    if (--holds === 0) follow();
  };
}

/* Shows what growing recordings have become meanwhile. */
function follow(): void {
  if (!isPaused.value && holds === 0 && recordings.value?.some(isGrowing)) void refresh();
}
isPaused.subscribe(follow);

function standingStill(next: Recording[]): Recording[] {
  const now = recordings.value;
  if (!now || (!isPaused.value && holds === 0)) return next;
  return next.map((r) => now.find((old) => old.id === r.id && isGrowing(old)) ?? r);
}

function setIfChanged(next: Recording[]): void {
  if (JSON.stringify(next) !== JSON.stringify(recordings.value)) recordings.set(next);
}

const isChanging = (r: Recording): boolean =>
  r.state === 'loading' || isGrowing(r) || (r.state === 'ready' && r.names_percent < 100);

export const isGrowing = (r: Recording): boolean => r.state === 'ready' && r.growing === true;

/* The recording that an address means. */
export function findRecording(list: Recording[] | null, rec: string): Recording | null {
  if (!list) return null;
  if (rec !== 'last') return list.find((r) => r.id === rec) ?? null;
  const usable = list.filter((r) => r.state !== 'failed');
  return usable[usable.length - 1] ?? list[list.length - 1] ?? null;
}

export function useRecording(): Recording | null {
  return findRecording(useSignal(recordings), useSignal(address).rec);
}

/* What distinguishes the figures of a growing recording now from those a moment ago. */
export function dataVersion(r: Recording | null): string {
  if (!r) return '';
  return isGrowing(r) ? `${r.duration_ns ?? 0}` : r.state;
}
