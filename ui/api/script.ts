/* Running a script on the server: POST, and the files that scripts wrote. */
import { ApiError, ask, downloadUrl, type Query } from './client';
import type { Error as ErrorAnswer, FilterScript, ScriptResult } from './types';

export async function executeScript(
  recording: string,
  code: string,
  signal: AbortSignal,
): Promise<ScriptResult> {
  let response: Response;
  try {
    response = await fetch(downloadUrl(`/data/${recording}/execute_script`), {
      method: 'POST',
      body: code,
      headers: { 'Content-Type': 'text/plain' },
      signal,
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError('The server does not answer.', 0);
  }
  if (response.ok) return (await response.json()) as ScriptResult;
  const answer = (await response.json().catch(() => ({}))) as Partial<ErrorAnswer>;
  const words = answer.error ?? `The server answered with status ${response.status}.`;
  throw new ApiError(words, response.status, answer);
}

/* The filter as a script. */
export const filterScript = (recording: string, filter: Query): Promise<FilterScript> =>
  ask<FilterScript>(downloadUrl(`/data/${recording}/allocation_filter_to_script`, filter));

export const scriptFileUrl = (url: string): string => downloadUrl(url);
