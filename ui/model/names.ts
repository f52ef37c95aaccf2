/* Function names and locations as people read them. Pure.
 *
 * `Type::method` first, then file:line, then the path. Template arguments fold to <…> when they are
 * long, hashes of Rust symbols are never shown, closures read {closure}.
 */

/* What the API tells of a frame; the fields that naming needs. */
export interface FrameName {
  function: string | null;
  source: string | null;
  line: number | null;
  module: string | null;
  address: string;
  class: string;
  package?: string;
  module_offset?: string; // of code without a function name
}

/* The owners that the GUI tells apart, and what the API's classes become. */
export type Owner = 'own' | 'dep' | 'nat' | 'run';

export const OWNER_WORDS: Record<Owner, string> = {
  own: 'your code',
  dep: 'library',
  nat: 'C and C++',
  run: 'runtime',
};

export function ownerOf(frameClass: string): Owner {
  if (frameClass === 'own') return 'own';
  if (frameClass === 'native') return 'nat';
  return frameClass === 'library' ? 'dep' : 'run';
}

const MAX_ARGUMENTS = 24; // characters of template arguments that are shown as they are

/* Removes Rust's hash and the tag of C++'s library, shortens closures. */
const withoutHash = (name: string): string =>
  name
    .replace(/::h[0-9a-f]{16}$/, '')
    .replace(/\[abi:cxx11\]/g, '')
    .replace(/\{\{closure\}\}|\{closure#\d+\}|\{async_fn#\d+\}|\{async_block#\d+\}/g, '{closure}');

/* Removes Rust's hash, shortens closures and long template arguments. */
export const cleanName = (name: string): string => foldArguments(withoutHash(name));

/* "f<…>" for arguments longer than MAX_ARGUMENTS; operators such as operator<< stay. */
function foldArguments(name: string): string {
  let out = '';
  let i = 0;
  while (i < name.length) {
    const opens = name[i] === '<' && i > 0 && !/operator<*$/.test(name.slice(0, i));
    const end = opens ? closing(name, i) : -1;
    if (end > 0 && end - i - 1 > MAX_ARGUMENTS) {
      out += '<…>';
      i = end + 1;
    } else {
      out += name[i++];
    }
  }
  return out;
}

/* Index of the '>' that closes the '<' at `open`, or -1. */
function closing(name: string, open: number): number {
  let depth = 0;
  for (let i = open; i < name.length; i++) {
    const c = name[i];
    if (c === '<') depth++;
    else if (c === '>' && name[i - 1] !== '-' && --depth === 0) return i;
  }
  return -1;
}

/* Parameters go: "f(int, char)" -> "f"; "operator()" and "(anonymous namespace)" stay. */
function withoutParameters(name: string): string {
  const trimmed = name.replace(/ const$| noexcept$/, '');
  if (!trimmed.endsWith(')') || /operator\(\)$|\(anonymous namespace\)$/.test(trimmed)) {
    return trimmed;
  }
  let depth = 0;
  for (let i = trimmed.length - 1; i > 0; i--) {
    const c = trimmed[i];
    if (c === ')') depth++;
    else if (c === '(' && --depth === 0) return trimmed.slice(0, i);
  }
  return trimmed;
}

/* The type that demanglers put before a template's name goes: "void f<int>(int)" -> "f<int>". Only
 * names with parameters have one; "operator new" and "thunk to f" keep their words. */
function withoutResult(name: string): string {
  if (/\bthunk to /.test(name)) return name;
  const operator = name.search(/\boperator\W/);
  const end = operator < 0 ? name.length : operator;
  let depth = 0;
  let start = 0;
  for (let i = 0; i < end; i++) {
    const c = name[i];
    if (c === '<' || c === '(' || c === '[' || c === '{') depth++;
    else if ((c === '>' && name[i - 1] !== '-') || c === ')' || c === ']' || c === '}') depth--;
    else if (c === ' ' && depth === 0) start = i + 1;
  }
  return name.slice(start);
}

/* Where a name has "::" outside of brackets. */
function partsOf(plain: string): number[] {
  const cuts: number[] = [];
  let depth = 0;
  for (let i = 0; i < plain.length - 1; i++) {
    const c = plain[i];
    if (c === '<' || c === '(' || c === '{') depth++;
    else if ((c === '>' && plain[i - 1] !== '-') || c === ')' || c === '}') depth--;
    else if (depth === 0 && c === ':' && plain[i + 1] === ':') cuts.push(i++);
  }
  return cuts;
}

/* Rust names a method by its type and trait: "<a::Node as b::Decode>::decode" is a::Node::decode. Of a type
 * that is a parameter only, or a reference, the trait says more: "<T as b::Into<U>>::into" is
 * b::Into<U>::into. */
function withoutTrait(name: string): string {
  const impl = /(?:^|::)<impl /.exec(name);
  if (impl) return withoutImpl(name, impl.index + impl[0].length - '<impl '.length);
  const end = name[0] === '<' ? closing(name, 0) : -1;
  if (end < 0 || !name.startsWith('::', end + 1)) return name;
  const inside = name.slice(1, end);
  const as = wordOutside(inside, ' as ');
  const type = as < 0 ? inside : inside.slice(0, as);
  const isVague = as >= 0 && (/^[&*]/.test(type) || /^[A-Z]\d?$/.test(type));
  return (isVague ? inside.slice(as + 4) : type) + name.slice(end + 1);
}

/* "a::b::<impl c::Type>::f" and "<impl d::Trait for c::Type>::f" are c::Type::f. */
function withoutImpl(name: string, at: number): string {
  const end = closing(name, at);
  if (end < 0 || !name.startsWith('::', end + 1)) return name;
  const inside = name.slice(at + '<impl '.length, end);
  const of = wordOutside(inside, ' for ');
  return (of < 0 ? inside : inside.slice(of + ' for '.length)) + name.slice(end + 1);
}

/* Where a word is outside of brackets; -1: nowhere. */
function wordOutside(text: string, word: string): number {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '<' || c === '(' || c === '[') depth++;
    else if ((c === '>' && text[i - 1] !== '-') || c === ')' || c === ']') depth--;
    else if (depth === 0 && text.startsWith(word, i)) return i;
  }
  return -1;
}

/* What stands between "f" and its closures: "f::{closure}::{closure}" -> 2. Async functions are closures in
 * functions, and what they spawn is one more. */
const CLOSURES = /(?:::\{closure\})+$/;

/* What Python calls a function of a script: "py::handle:/srv/app.py" -> handle, /srv/app.py */
const PYTHON = /^py::(.+):([^:]*)$/;

/* "a::b::Type::method" -> ["a::b::", "Type::method"] */
export function splitName(name: string): [path: string, last: string] {
  const python = PYTHON.exec(name);
  if (python) return ['', python[1] ?? name];
  const clean = foldArguments(withoutTrait(withoutHash(name)));
  const bare = withoutParameters(clean);
  const plain = bare === clean ? bare : withoutResult(bare);
  /* a closure is nothing without the function that holds it */
  const closures = CLOSURES.exec(plain)?.[0] ?? '';
  const holder = closures ? plain.slice(0, -closures.length) : plain;
  const depth = closures.length / '::{closure}'.length;
  const end = depth > 1 ? `::{closure ×${depth}}` : closures;
  const cuts = partsOf(holder);
  const cut = cuts.length >= 2 ? (cuts[cuts.length - 2] ?? -2) + 2 : 0;
  return [holder.slice(0, cut), holder.slice(cut) + end];
}

export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/* What the API calls the code of a frame: the function; of code without one its place in its module,
 * "libx.so.1+0x1234", which is the same in every run. */
export function codeName(f: FrameName): string {
  if (f.function) return f.function;
  return f.module && f.module_offset ? `${baseName(f.module)}+${f.module_offset}` : f.address;
}

/* Name of a frame for a list. */
export const frameTitle = (f: FrameName): string =>
  f.function ? splitName(f.function)[1] : codeName(f);

/* Where the name lives: "basalt_net::gossip". */
export const framePath = (f: FrameName): string =>
  f.function ? splitName(f.function)[0].replace(/::$/, '') : '';

/* "seen.rs:214"; the script of a Python function; else the module, where the name does not say it. */
export function frameLocation(f: FrameName): string {
  if (f.source) return baseName(f.source) + (f.line ? ':' + f.line : '');
  const script = PYTHON.exec(f.function ?? '')?.[2];
  if (script) return baseName(script);
  const module = f.module ? baseName(f.module) : '';
  return !f.function && codeName(f).startsWith(module) ? '' : module;
}

/* The same for all frames of one function. */
export const frameKey = (f: FrameName): string => f.function ?? `${f.module ?? ''} ${f.address}`;

/* Everything, for tooltips. */
export function frameFull(f: FrameName): string {
  const where = f.source ? f.source + (f.line ? ':' + f.line : '') : (f.module ?? '');
  return [codeName(f), where].filter(Boolean).join('\n');
}

/* For regular expressions of the API (PCRE2): matches exactly this text. */
export const exactRegex = (text: string): string => '^' + escapeRegex(text) + '$';
export const escapeRegex = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
