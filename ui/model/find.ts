/* What somebody types into "Function, file or /regex/". Pure. */
import { escapeRegex } from './names';

/* The expression for the API (PCRE2): text is found in any case, /text/ is an expression as it
 * stands, /text/i one that ignores case. Empty: nothing to find. */
export function findRegex(text: string): string {
  const t = text.trim();
  const given = /^\/(.+)\/(i?)$/.exec(t);
  if (given) return (given[2] ? '(?i)' : '') + given[1];
  return t ? '(?i)' + escapeRegex(t) : '';
}

/* "7f1a08c4e2a0", "0x7f1a08c4e2a0" -> "0x7f1a08c4e2a0"; null: not an address. */
export function parseAddressText(text: string): string | null {
  const m = /^(?:@|0x)?([0-9a-f]{1,16})$/i.exec(text.trim());
  return m ? '0x' + (m[1] ?? '').toLowerCase() : null;
}
