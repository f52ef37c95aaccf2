/* Asking the server. One function, `ask`: a path below /api/v1 and parameters in, JSON out.
 *
 * Every failure is an ApiError with words for people: what the server said, which parameter was
 * wrong, or that the server does not answer. An aborted request throws the browser's AbortError;
 * the server sees that the client hung up and ends the query.
 *
 * A page that was exported (`export -f html`) carries the answers in itself: they are found by the
 * same paths, and nothing is ever sent.
 */
import { quote } from '../model/command_line';
import type { Error as ErrorAnswer } from './types';

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number, // 0: the server did not answer
    readonly answer: Partial<ErrorAnswer> = {},
  ) {
    super(message);
  }
  get isAway(): boolean {
    return this.status === 0;
  }
  get isLoading(): boolean {
    return this.status === 503 && this.answer.state === 'loading';
  }
}

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/* Answers inside an exported page: path -> JSON. */
interface Exported {
  answers: Record<string, unknown>;
}

function readExported(): Exported | null {
  const element = document.getElementById('exported-answers');
  return element ? (JSON.parse(element.textContent ?? '{}') as Exported) : null;
}

const exported = readExported();
export const isExported = exported !== null;

/* The token is part of the address that `server --token` prints; it stays out of the API's URLs. */
const token = new URLSearchParams(location.search).get('token');

export function queryText(query: Query): string {
  const out = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') out.set(key, String(value));
  }
  return out.toString();
}

export function apiUrl(path: string, query: Query = {}): string {
  const text = queryText(query);
  return `/api/v1/${path}${text ? '?' + text : ''}`;
}

/* For links that the browser follows by itself (downloads): the token has to be in them. */
export function downloadUrl(path: string, query: Query = {}): string {
  const text = queryText({ ...query, token });
  return `${path}${text ? '?' + text : ''}`;
}

/* The same question for a shell: quoted, and with the token where the server asks for one. */
export function curlOf(path: string, query: Query = {}): string {
  const text = queryText(query);
  const header = token ? ['-H', quote(`Authorization: Bearer ${token}`)] : [];
  return ['curl', ...header, quote(`${location.origin}${path}${text ? '?' + text : ''}`)].join(' ');
}

export async function ask<T>(url: string, signal?: AbortSignal): Promise<T> {
  if (exported) return fromExported<T>(url);
  let response: Response;
  try {
    response = await fetch(url, {
      ...(signal ? { signal } : {}),
      headers: token ? { Authorization: `Bearer ${token}` } : {},
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError('The server does not answer.', 0);
  }
  if (response.ok) return readJson<T>(response);
  throw await refusal(response);
}

async function readJson<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError('The answer was cut off.', response.status);
  }
}

async function refusal(response: Response): Promise<ApiError> {
  try {
    const answer = (await response.json()) as ErrorAnswer;
    return new ApiError(answer.error, response.status, answer);
  } catch {
    return new ApiError(`The server answered with status ${response.status}.`, response.status);
  }
}

/* The answers are named by their questions: what follows the recording's id. */
const questionOf = (url: string): string => url.replace(/^\/api\/v1\/(exported\/)?/, '');

function fromExported<T>(url: string): T {
  const answer = exported?.answers[questionOf(url)];
  if (answer === undefined) {
    throw new ApiError('This figure is not part of the exported page.', 404);
  }
  return answer as T;
}
