/* Bundles the GUI: node tools/bundle.mjs [output folder]. Writes index.html, app.js and app.css, and
 * fails when all of it together is larger than the budget. */
import { build } from 'esbuild';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const BUDGET_BYTES = 200 * 1024; // gzipped

const ui = join(dirname(fileURLToPath(import.meta.url)), '..');
const out = process.argv[2] ?? join(ui, 'dist');
mkdirSync(out, { recursive: true });
await build({
  entryPoints: { app: join(ui, 'main.tsx') },
  outdir: out,
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['chrome100', 'firefox100', 'safari15.4'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'warning',
});
await build({
  entryPoints: { app: join(ui, 'styles', 'app.css') },
  outdir: out,
  bundle: true,
  minify: true,
  logLevel: 'warning',
});
writeFileSync(join(out, 'index.html'), readFileSync(join(ui, 'index.html')));
writeFileSync(join(out, 'questions.txt'), (await exportedQuestions()).join('\n') + '\n');

/* What `export -f html` has to answer: the list is TypeScript, so it goes through the bundler, too. */
async function exportedQuestions() {
  const result = await build({
    entryPoints: [join(ui, 'model', 'exported_questions.ts')],
    bundle: true,
    format: 'esm',
    write: false,
  });
  const code = Buffer.from(result.outputFiles[0].contents).toString('base64');
  const module = await import(`data:text/javascript;base64,${code}`);
  return module.EXPORTED_QUESTIONS;
}

const sizes = ['index.html', 'app.js', 'app.css'].map((name) => {
  const bytes = gzipSync(readFileSync(join(out, name)), { level: 9 }).length;
  return { name, bytes };
});
const total = sizes.reduce((sum, s) => sum + s.bytes, 0);
const list = sizes.map((s) => `${s.name} ${(s.bytes / 1024).toFixed(1)}`).join(', ');
console.log(
  `GUI: ${(total / 1024).toFixed(1)} KiB gzipped (${list}; at most ${BUDGET_BYTES / 1024})`,
);
if (total > BUDGET_BYTES) {
  console.error('The bundle is larger than its budget.');
  process.exit(1);
}
