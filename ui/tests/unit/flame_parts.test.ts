import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assignPackages, changeColours, coloursOf, rankPackages } from '../../model/flame_colour';
import { labelOf, TextWidths } from '../../model/flame_label';
import { layOut, WHOLE } from '../../model/flame_layout';
import { HIT, INSIDE, LEADS, search, searchPattern } from '../../model/flame_search';
import { announcement, heaviestEnd, stepFrom } from '../../model/flame_step';
import { flameSvg } from '../../model/flame_svg';
import { costsOf, heaviestOf, valueColumn, widthColumn } from '../../model/flame_tree';
import { frame, SAMPLE, treeOf } from './flame_fixture';

const tree = treeOf(SAMPLE);
const layout = layOut(tree, widthColumn(tree, 'peak'));

test('matches below a match count once', () => {
  const found = search(tree, searchPattern('^(a|b)$'), widthColumn(tree, 'peak'));
  assert.equal(found.value, 55); // a with its b, and the other a
  assert.equal(found.nodes, 3);
  assert.equal(found.heaviest, 2);
  assert.deepEqual([...found.mark], [LEADS, LEADS, HIT | LEADS, HIT | INSIDE, LEADS, 0, HIT, 0]);
});

test('no match marks nothing', () => {
  const found = search(tree, searchPattern('nowhere'), widthColumn(tree, 'peak'));
  assert.deepEqual([found.value, found.nodes, found.heaviest], [0, 0, -1]);
  assert.ok(found.mark.every((m) => m === 0));
});

test('package and file are searched, case does not matter, bad expressions are texts', () => {
  const t = treeOf(SAMPLE, { a: { package: 'Gossip' }, d: { source: '/src/seen.rs' } });
  assert.equal(search(t, searchPattern('gossip'), widthColumn(t, 'peak')).nodes, 2);
  assert.equal(search(t, searchPattern('seen\\.rs'), widthColumn(t, 'peak')).nodes, 1);
  assert.ok(searchPattern('f(').test('F(int)'));
  assert.ok(searchPattern('f[abi:cxx11]').test('f[abi:cxx11]'));
  assert.ok(searchPattern('^a|b$').test('xb'));
});

test('the heaviest node of a function', () => {
  assert.equal(heaviestOf(tree, 'a', widthColumn(tree, 'peak')), 2);
  assert.equal(heaviestOf(tree, 'nowhere', widthColumn(tree, 'peak')), -1);
  assert.equal(costsOf(tree, 2).leaked_bytes, 40);
});

test('labels lose the path, then their end, then everything', () => {
  const widths = new TextWidths((text) => text.length * 10);
  const label = labelOf(frame('net::gossip::SeenCache::remember(int)'), 0);
  assert.deepEqual(label, {
    whole: 'net::gossip::SeenCache::remember',
    short: 'SeenCache::remember',
  });
  assert.equal(widths.fit(label, 320).text, label.whole);
  assert.equal(widths.fit(label, 319).text, label.short);
  assert.equal(widths.fit(label, 189).text, 'SeenCache::rememb…');
  assert.equal(widths.fit(label, 189).width, 180);
  assert.equal(widths.fit(label, 30).text, 'Se…');
  assert.equal(widths.fit(label, 29).text, '');
});

test('folded frames say how many they are, nameless ones where they are', () => {
  assert.equal(labelOf(frame('tokio worker'), 8).whole, 'tokio worker · 8 frames');
  assert.equal(labelOf(frame('f'), 1).short, 'f · 1 frame');
  assert.equal(
    labelOf(frame(null, { module: '/lib/libc.so.6', module_offset: '0x8' }), 0).whole,
    'libc.so.6+0x8',
  );
  assert.equal(labelOf(frame(null, {}), 0).whole, '0x10');
});

test('a letter is measured once', () => {
  let n = 0;
  const widths = new TextWidths(() => {
    n++;
    return 5;
  });
  widths.cut('aaaabbbb', 20);
  widths.cut('abababab', 30);
  assert.equal(n, 3); // a, b and the ellipsis
});

test('colours by owner', () => {
  const t = treeOf(SAMPLE, {
    a: { class: 'library' },
    b: { class: 'native' },
    d: { class: 'allocator' },
  });
  const { palette, byNode } = coloursOf(t, 'owner', widthColumn(t, 'peak'), []);
  const token = (node: number) => palette[byNode[node] ?? 0]?.token ?? '';
  assert.match(token(0), /^--run-1$/);
  assert.match(token(1), /^--own-[123]$/);
  assert.match(token(2), /^--dep-[123]$/);
  assert.match(token(3), /^--nat-[123]$/);
  assert.match(token(5), /^--run-[123]$/);
  assert.equal(token(2), token(6)); // the same function
});

test('colours by package: ranked by cost, a package below itself counts once', () => {
  const t = treeOf(SAMPLE, {
    main: { package: 'app' },
    a: { package: 'one' },
    b: { package: 'one' },
    c: { package: 'two' },
    d: { package: 'three', class: 'runtime' },
    start: { package: 'libc', class: 'runtime' },
  });
  const ranked = rankPackages(t, widthColumn(t, 'peak'));
  assert.deepEqual(ranked, ['app', 'two', 'one']);
  const { palette, byNode } = coloursOf(t, 'package', widthColumn(t, 'peak'), ranked);
  const token = (node: number) => palette[byNode[node] ?? 0]?.token;
  assert.deepEqual([1, 4, 2, 5, 0].map(token), ['--q1', '--q2', '--q3', '--q8', '--q8']);
});

test('packages keep their colours while they are among the heaviest', () => {
  assert.deepEqual(assignPackages([], ['a', 'b', 'c']), ['a', 'b', 'c']);
  assert.deepEqual(assignPackages(['a', 'b', 'c'], ['c', 'd', 'b']), ['d', 'b', 'c']);
  assert.deepEqual(assignPackages(['a', 'b', 'c'], ['c']), ['c']);
  const many = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  assert.deepEqual(assignPackages([], many), many.slice(0, 7));
});

test('a change is blue or vermilion, the largest strongest', () => {
  const colours = changeColours(Float64Array.from([0, 60, 1, -60, -30]));
  assert.deepEqual([...colours], [0, 6, 1, 12, 9]);
  const t = treeOf([
    { parent: 0, name: '', peak: 5, base: 30 },
    { parent: 0, name: 'grew', peak: 15, base: 20 },
    { parent: 0, name: 'gone', peak: -10, base: 10 },
  ]);
  const { palette, byNode } = coloursOf(t, 'change', valueColumn(t, 'peak'), []);
  assert.deepEqual(palette[byNode[1] ?? 0], { token: '--q2', from: '--run-2', strength: 1 });
  assert.equal(palette[byNode[2] ?? 0]?.token, '--q1');
});

test('arrow keys', () => {
  const step = (node: number, key: string, width = 1000) =>
    stepFrom(tree, layout, WHOLE, width, node, key);
  assert.equal(step(0, 'ArrowRight'), 1);
  assert.equal(step(1, 'ArrowRight'), 4);
  assert.equal(step(4, 'ArrowDown'), 2);
  assert.equal(step(0, 'ArrowDown'), step(0, 'ArrowRight')); // the outermost has no neighbour
  assert.equal(step(2, 'ArrowUp'), 4);
  assert.equal(step(5, 'ArrowDown'), 3); // across parents
  assert.equal(step(3, 'ArrowDown'), -1);
  assert.equal(step(3, 'ArrowLeft'), 2);
  assert.equal(step(0, 'ArrowLeft'), -1);
  assert.equal(step(3, 'ArrowRight'), -1);
  assert.equal(step(1, 'ArrowDown', 4), -1); // 0.4 pixels wide: not seen
});

test('the heaviest path ends where the cost spreads', () => {
  assert.equal(heaviestEnd(layout, 0), 4); // main, c; then 25 and 20 of 60
  assert.equal(heaviestEnd(layout, 2), 3);
});

test('a frame is announced with its part and its rank', () => {
  assert.equal(
    announcement(tree, layout, 2, '30 B', '30.0 %'),
    'a, 30 B, 30.0 percent, 2 of 2 children',
  );
  assert.equal(announcement(tree, layout, 0, '100 B', '100 %'), 'All, 100 B, 100 percent');
});

test('the SVG has the boxes of the view, and texts are escaped', () => {
  const svg = flameSvg({
    layout,
    view: WHOLE,
    rows: 4,
    width: 1000,
    title: 'a < b & "c"',
    font: 'sans-serif',
    background: '#fff',
    text: '#000',
    crowd: '#eee',
    fill: () => '#abc',
    ink: () => '#123',
    label: (p) => ({ whole: `<${layout.node[p]}>`, short: 'x' }),
    tip: (p) => `tip ${layout.node[p]}`,
    fit: (label) => ({ text: label.whole, width: 10 }),
  });
  assert.equal(svg.match(/fill="#abc"/g)?.length, 8);
  assert.match(svg, /x="600" y="70" width="299" height="20" fill="#abc"/);
  assert.match(svg, /&#60;4&#62;/);
  assert.match(svg, /a &#60; b &#38; &#34;c&#34;/);
  assert.ok(!/<[^>]*</.test(svg.replace(/<title>.*?<\/title>/g, '')));
});
