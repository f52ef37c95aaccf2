/* Lua as coloured pieces, for the editor of the console. Pure: text in, pieces out; together the pieces
 * are the text. */

export type LuaKind = 'keyword' | 'string' | 'number' | 'comment' | 'ours' | '';
export interface LuaPiece {
  kind: LuaKind;
  text: string;
}

const KEYWORDS = new Set(
  (
    'and break do else elseif end false for function goto if in local nil not or repeat return then ' +
    'true until while'
  ).split(' '),
);

/* What scripts have besides Lua: docs/SCRIPTING.md. */
const OURS = new Set(
  (
    'allocations argv count data duration exit formats gb gib graph kb kib maps mb mib print ' +
    'print_table println recordings report save size'
  ).split(' '),
);

const PIECE =
  /(--\[(=*)\[[\s\S]*?(?:\]\2\]|$)|--[^\n]*)|(\[(=*)\[[\s\S]*?(?:\]\4\]|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?)|(0[xX][\da-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)/g;

function kindOf(m: RegExpExecArray, before: string): LuaKind {
  if (m[1] !== undefined) return 'comment';
  if (m[3] !== undefined) return 'string';
  if (m[5] !== undefined) return 'number';
  if (KEYWORDS.has(m[0])) return 'keyword';
  return OURS.has(m[0]) && !/[.:]\s*$/.test(before) ? 'ours' : '';
}

export function luaPieces(text: string): LuaPiece[] {
  const out: LuaPiece[] = [];
  const add = (kind: LuaKind, part: string): void => {
    const last = out[out.length - 1];
    if (!part) return;
    if (last?.kind === kind) last.text += part;
    else out.push({ kind, text: part });
  };
  let at = 0;
  PIECE.lastIndex = 0;
  for (let m = PIECE.exec(text); m; m = PIECE.exec(text)) {
    add('', text.slice(at, m.index));
    add(kindOf(m, text.slice(Math.max(0, m.index - 8), m.index)), m[0]);
    at = m.index + m[0].length;
  }
  add('', text.slice(at));
  return out;
}
