/* "Only this" and "Not this" of a function as filters of the address. Pure. */
import type { Params } from './address';
import { exactRegex } from './names';

/* Stacks with this function, instead of what was asked of functions before. */
export const onlyFunction = (name: string): Record<string, string> => ({
  function_regex: exactRegex(name),
});

/* Stacks without this function, and without those that were left out before. */
export function notFunction(params: Params, name: string): Record<string, string> {
  const before = params['negative_function_regex'];
  /* a group, so that options such as (?i) end with it */
  const first = before?.includes('(?') ? `(?:${before})` : before;
  return { negative_function_regex: [first, exactRegex(name)].filter(Boolean).join('|') };
}
