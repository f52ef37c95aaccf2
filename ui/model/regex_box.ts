/* What people type into a box that filters, and the regular expression (PCRE2) that the API gets. Pure.
 *
 * A box holds a text that is looked for without regard to case, or /an expression/ as it is;
 * /an expression/i disregards case, too. The address holds the expression: boxes and chips read it
 * back, so an expression that was typed elsewhere is shown here as /expression/.
 */
import { escapeRegex } from './names';

const NO_CASE = '(?i)';

/* "Seen" -> "(?i)Seen", "a.b" -> "(?i)a\.b", "/^a|b/" -> "^a|b", "" -> "" */
export function regexOfBox(text: string): string {
  const typed = /^\/(.+)\/(i?)$/.exec(text);
  if (typed) return (typed[2] ? NO_CASE : '') + (typed[1] ?? '');
  return text ? NO_CASE + escapeRegex(text) : '';
}

/* The text of an expression that matches just this text; null: the expression can do more. */
function literalOf(regex: string): string | null {
  let out = '';
  for (let i = 0; i < regex.length; i++) {
    const c = regex.charAt(i);
    if (c === '\\') {
      const next = regex.charAt(++i);
      if (!/^[\\^$.*+?()[\]{}|]$/.test(next)) return null;
      out += next;
    } else if (/[\^$.*+?()[\]{}|]/.test(c)) {
      return null;
    } else {
      out += c;
    }
  }
  return out;
}

/* The texts that an expression matches as a whole and nothing else: "^a$", "^\\Qa(b)\\E$", "^a$|^b$". null:
 * the expression can do more. */
export function exactTexts(regex: string): string[] | null {
  if (!regex.startsWith('^') || !regex.endsWith('$')) return null;
  const texts = regex
    .slice(1, -1)
    .split('$|^')
    .map((part) => {
      const quoted = /^\\Q(.*)\\E$/s.exec(part)?.[1];
      if (quoted === undefined) return literalOf(part);
      return quoted.includes('\\E') ? null : quoted;
    });
  return texts.every((text) => text !== null && text !== '') ? (texts as string[]) : null;
}

export function boxOfRegex(regex: string): string {
  if (!regex.startsWith(NO_CASE)) return regex ? `/${regex}/` : '';
  const rest = regex.slice(NO_CASE.length);
  const literal = literalOf(rest);
  /* a text between slashes would read as an expression */
  return literal && regexOfBox(literal) === regex ? literal : `/${rest}/i`;
}
