/* Which rows of a tree are open, as the address holds it. Pure.
 *
 * A row is named by its path: the keys of the names from the root, in base 36, joined by dots. The set of
 * open rows is closed towards the root: with a row its parents are open. It is written as a walk through
 * the tree of open rows, with characters that an address holds as they are: after a key "." leads to its
 * first open child, "-" to the next row at the same level, and each "_" one level up, to the next row
 * there. So "a.b.c__d" has a, a.b, a.b.c and d open. The key "*" is the row "more" of a parent.
 */
export const MORE_KEY = '*';
export const NOTHING_OPEN = '0'; // an empty parameter would mean "as the page likes"

export const keyText = (key: number): string => key.toString(36);
export const keyOfText = (text: string): number => parseInt(text, 36);

export const parentPath = (path: string): string =>
  path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : '';
export const childPath = (parent: string, key: string): string =>
  parent ? `${parent}.${key}` : key;
export const lastKey = (path: string): string => path.slice(path.lastIndexOf('.') + 1);

/* "k1,k2" as the API's `under` wants it. */
export const underOf = (path: string): string =>
  path ? path.split('.').map(keyOfText).join(',') : '';

/* The path itself and all above it, outermost first. */
export function pathAndParents(path: string): string[] {
  if (!path) return [];
  const keys = path.split('.');
  return keys.map((_, i) => keys.slice(0, i + 1).join('.'));
}

interface Branch {
  children: Map<string, Branch>;
}

function treeOfPaths(paths: Iterable<string>): Branch {
  const root: Branch = { children: new Map() };
  for (const path of paths) {
    let at = root;
    for (const key of path.split('.')) {
      let next = at.children.get(key);
      if (!next) at.children.set(key, (next = { children: new Map() }));
      at = next;
    }
  }
  return root;
}

export function formatOpen(paths: Iterable<string>): string {
  let out = '';
  let above = 0; // levels to go up before the next key
  const walk = (branch: Branch, depth: number) => {
    let isFirst = true;
    for (const [key, child] of branch.children) {
      if (isFirst) out += depth ? '.' : '';
      else out += above > depth ? '_'.repeat(above - depth) : '-';
      isFirst = false;
      out += key;
      above = depth;
      walk(child, depth + 1);
    }
  };
  walk(treeOfPaths(paths), 0);
  return out || NOTHING_OPEN;
}

/* Bad texts give what can be read of them: an address may be cut. */
export function parseOpen(text: string): Set<string> {
  const open = new Set<string>();
  if (text === NOTHING_OPEN) return open;
  const path: string[] = [];
  for (const [, steps = '', key = ''] of text.matchAll(/([._-]*)([0-9a-z]+|\*)/g)) {
    if (steps === '-') path.pop();
    else if (steps.startsWith('_')) path.length = Math.max(0, path.length - 1 - steps.length);
    path.push(key);
    open.add(path.join('.'));
  }
  return open;
}

/* A row closes: what is open below it is forgotten. */
export function withoutBranch(open: ReadonlySet<string>, path: string): Set<string> {
  return new Set([...open].filter((p) => p !== path && !p.startsWith(path + '.')));
}

export const withPath = (open: ReadonlySet<string>, path: string): Set<string> =>
  new Set([...open, ...pathAndParents(path)]);
