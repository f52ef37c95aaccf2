/* A recording in words: its name and its state. Pure. */
import { baseName } from './names';

/* The fields of the API's Recording that this needs. */
export interface RecordingFacts {
  file: string;
  state: string;
  percent: number;
  error?: string;
  executable?: string;
  complete?: boolean;
  ended?: string;
  growing?: boolean;
  imported?: string | null;
}

export type Mark = 'ok' | 'warn' | 'bad' | 'live' | 'busy';

export interface RecordingState {
  mark: Mark;
  word: string;
  note: string;
}

/* The program's name, or the file's while the program is not known. */
export const basename = (r: RecordingFacts): string =>
  r.executable ? baseName(r.executable) : r.file;

export function stateOf(r: RecordingFacts): RecordingState {
  if (r.state === 'loading') return { mark: 'busy', word: 'Loading', note: '' };
  if (r.state === 'failed') return { mark: 'bad', word: 'Cannot open', note: '' };
  if (r.growing) return { mark: 'live', word: 'Recording now', note: '' };
  if (r.imported) return { mark: 'ok', word: 'Imported', note: r.imported };
  const ended = r.ended ?? '';
  if (ended.startsWith('killed'))
    return { mark: 'bad', word: 'Killed', note: r.complete ? 'complete' : '' };
  if (r.complete === false) return { mark: 'warn', word: 'Part missing', note: ended };
  return { mark: 'ok', word: 'Finished', note: '' };
}
