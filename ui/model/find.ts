/* What somebody types into "Function, file or /regex/". Pure. */
import { regexOfBox } from './regex_box';

/* The expression for the API (PCRE2): text is found in any case, /text/ is an expression as it
 * stands, /text/i one that ignores case. Empty: nothing to find. */
export const findRegex = (text: string): string => regexOfBox(text.trim());

/* "7f1a08c4e2a0", "0x7f1a08c4e2a0" -> "0x7f1a08c4e2a0"; null: not an address. */
export function parseAddressText(text: string): string | null {
  const m = /^(?:@|0x)?([0-9a-f]{1,16})$/i.exec(text.trim());
  return m ? '0x' + (m[1] ?? '').toLowerCase() : null;
}
