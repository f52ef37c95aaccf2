/* Keeps what the colours of tokens.css were chosen for: contrast (WCAG 2) and being distinct under
 * simulated colour blindness (Machado et al. 2009, distance in OKLab times 100; 2 is just visible). */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

type Rgb = readonly [number, number, number]; // linear light, 0 to 1
type Tokens = Readonly<Record<string, string>>;

const css = readFileSync('styles/tokens.css', 'utf8');

function tokensOf(theme: string): Tokens {
  const block = new RegExp(`\\[data-theme='${theme}'\\] \\{([^]*?)\\n\\}`).exec(css)?.[1] ?? '';
  const found = [...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/g)];
  assert.ok(found.length > 60, `${theme}: ${found.length} colours`);
  return Object.fromEntries(found.map((m) => [m[1] ?? '', m[2] ?? '']));
}

function linear(hex: string): Rgb {
  const channel = (at: number) => {
    const c = parseInt(hex.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
  };
  return [channel(1), channel(3), channel(5)];
}

const luminance = ([r, g, b]: Rgb): number => 0.2126 * r + 0.7152 * g + 0.0722 * b;

function contrast(a: string, b: string): number {
  const [x, y] = [luminance(linear(a)), luminance(linear(b))];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

function colour(t: Tokens, name: string): string {
  const value = t[name];
  assert.ok(value, `--${name} is missing`);
  return value;
}

/* The worst contrast of any of `texts` on any of `grounds`, to two digits as it is documented. */
function worst(t: Tokens, texts: readonly string[], grounds: readonly string[]): [number, string] {
  let best: [number, string] = [Infinity, ''];
  for (const text of texts)
    for (const ground of grounds) {
      const c = contrast(colour(t, text), colour(t, ground));
      if (c < best[0]) best = [c, `--${text} on --${ground}`];
    }
  return [Math.round(best[0] * 100) / 100, best[1]];
}

const numbered = (name: string, n: number): string[] =>
  Array.from({ length: n }, (_, i) => name + (i + 1));

const GROUNDS = ['bg', 'bg-view', 'bg-raised', 'bg-sunken', 'bg-hover', 'bg-select'];
const TEXTS = ['text', 'text-2', 'text-3'];
const COSTS = ['peak', 'leaked', 'allocs', 'temp', 'bytes'];
const OWNERS = ['own', 'dep', 'nat', 'run'];
const FRAMES = [...OWNERS.flatMap((o) => numbered(`${o}-`, 3)), ...numbered('q', 8)];

/* What has to be read, on what, and the least contrast in the light and in the dark theme. */
const CLAIMS: readonly (readonly [string, string[], string[], light: number, dark: number])[] = [
  [
    'text, costs, states and links on every background',
    [...TEXTS, ...COSTS.map((c) => 'c-' + c), 'c-rss', 'ok', 'warn', 'bad', 'accent'],
    GROUNDS,
    4.6,
    5.1,
  ],
  ['text on the tints of costs', TEXTS, COSTS.map((c) => 'f-' + c), 4.59, 4.59],
  ['text on the tints of states', TEXTS, ['ok-bg', 'warn-bg', 'bad-bg'], 4.59, 4.59],
  ['text on flame frames', ['on-flame'], FRAMES, 6.7, 4.66],
  ['text on frames that a search did not match', ['on-flame-dim'], ['flame-dim'], 4.6, 4.6],
  ['text on the accent', ['on-accent'], ['accent'], 4.6, 4.6],
  ['lines of charts', numbered('v', 8), ['bg-view'], 3.1, 4.9],
];

for (const theme of ['light', 'dark'] as const)
  for (const [what, texts, grounds, light, dark] of CLAIMS)
    test(`${theme}: contrast of ${what}`, () => {
      const [least, where] = worst(tokensOf(theme), texts, grounds);
      const wanted = theme === 'light' ? light : dark;
      assert.ok(least >= wanted, `${where}: ${least}, at least ${wanted} is promised`);
    });

for (const state of ['ok', 'warn', 'bad'])
  test(`badges: --${state} on its own background`, () => {
    for (const theme of ['light', 'dark'])
      assert.ok(worst(tokensOf(theme), [state], [`${state}-bg`])[0] >= 4.6, theme);
  });

/* ---- colour blindness ---- */

const BLINDNESS: Record<string, readonly Rgb[]> = {
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

const apply = (matrix: readonly Rgb[], v: Rgb): Rgb => {
  const out = matrix.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
  return [out[0] ?? 0, out[1] ?? 0, out[2] ?? 0];
};
const clamp = ([r, g, b]: Rgb): Rgb => {
  const c = (x: number) => Math.max(0, Math.min(1, x));
  return [c(r), c(g), c(b)];
};

const TO_CONES: readonly Rgb[] = [
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
];
const TO_LAB: readonly Rgb[] = [
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
];

function oklab(rgb: Rgb): Rgb {
  const [l, m, s] = apply(TO_CONES, rgb);
  return apply(TO_LAB, [Math.cbrt(l), Math.cbrt(m), Math.cbrt(s)]);
}

/* The closest two of the colours under the worst kind of colour blindness. */
function closest(t: Tokens, names: readonly string[]): [number, string] {
  let best: [number, string] = [Infinity, ''];
  for (const [kind, matrix] of Object.entries(BLINDNESS)) {
    const seen = names.map((n) => oklab(clamp(apply(matrix, linear(colour(t, n))))));
    seen.forEach((a, i) =>
      seen.slice(0, i).forEach((b, j) => {
        const d = 100 * Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
        if (d < best[0]) best = [d, `--${names[i]} and --${names[j]}, ${kind}`];
      }),
    );
  }
  return [Math.round(best[0] * 100) / 100, best[1]];
}

const GROUPS: readonly (readonly [string, string[], number])[] = [
  ['fills of packages', numbered('q', 7), 6],
  ['areas of charts', numbered('a', 7), 6],
  ['lines of charts', numbered('v', 7), 6],
  ['owners', OWNERS.map((o) => `${o}-1`), 6.9],
];

for (const theme of ['light', 'dark'])
  for (const [what, names, wanted] of GROUPS)
    test(`${theme}: ${what} differ for colour-blind readers`, () => {
      const [least, where] = closest(tokensOf(theme), names);
      assert.ok(least >= wanted, `${where}: ${least} apart, at least ${wanted} is promised`);
    });

/* ---- one file names colours ---- */

test('no stylesheet but tokens.css names a colour', () => {
  for (const name of readdirSync('styles').filter((n) => n !== 'tokens.css')) {
    const text = readFileSync(`styles/${name}`, 'utf8').replace(/\/\*[^]*?\*\//g, '');
    assert.deepEqual(text.match(/#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|oklch|color)a?\(/gi), null, name);
  }
});
