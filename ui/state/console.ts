/* The console: its script, which the browser keeps, and the last run. A run goes on while the reader looks
 * at other pages. */
import { executeScript, filterScript } from '../api/script';
import { ApiError, type Query } from '../api/client';
import type { ScriptResult } from '../api/types';
import { SCRIPT_EXAMPLES } from '../model/script_examples';
import { goPage } from './router';
import { message } from './overlay';
import { Signal } from './signal';

const KEY = 'memory-profiler.script';

export interface ScriptRun {
  recording: string;
  since: number; // Date.now() while it runs; 0: it has ended
  result: ScriptResult | null;
  error: string; // of the server, not of the script
}

const NOT_RUN: ScriptRun = { recording: '', since: 0, result: null, error: '' };

function readText(): string {
  try {
    return localStorage.getItem(KEY) ?? SCRIPT_EXAMPLES[0]?.code ?? '';
  } catch {
    return '';
  }
}

export const scriptText = new Signal<string>(readText());
export const scriptBefore = new Signal<string>(''); // what the last replacement replaced
export const scriptRun = new Signal<ScriptRun>(NOT_RUN);
let abort: AbortController | null = null;

export function setScript(text: string): void {
  scriptText.set(text);
  try {
    localStorage.setItem(KEY, text);
  } catch {
    /* private windows keep nothing */
  }
}

/* Puts another script into the editor; the one before can be had back. */
export function replaceScript(text: string): void {
  if (scriptText.value.trim() && scriptText.value !== text) scriptBefore.set(scriptText.value);
  setScript(text);
}

export async function runScript(recording: string): Promise<void> {
  abort?.abort();
  const own = new AbortController();
  abort = own;
  scriptRun.set({ recording, since: Date.now(), result: null, error: '' });
  const end = (changes: Partial<ScriptRun>): void => {
    if (abort !== own) return;
    abort = null;
    scriptRun.set({ ...NOT_RUN, recording, ...changes });
  };
  try {
    end({ result: await executeScript(recording, scriptText.value, own.signal) });
  } catch (error) {
    if (own.signal.aborted) end({ error: 'Cancelled.' });
    else if (error instanceof ApiError) end({ error: error.message });
    else throw error;
  }
}

export const cancelScript = (): void => abort?.abort();

/* The current filter as a script, on the page of the console. */
export async function openInConsole(recording: string, filter: Query): Promise<void> {
  try {
    const { code } = await filterScript(recording, filter);
    replaceScript(
      `local list = ${code}\nprint(list)\nprint(list:group_by("function"):sort_by("bytes"))\n`,
    );
    goPage('console');
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    message.set(error.message);
  }
}
