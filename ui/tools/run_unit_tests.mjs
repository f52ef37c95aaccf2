/* Bundles tests/unit/*.test.ts and runs them with Node's own test runner. */
import { build } from 'esbuild';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ui = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = join(ui, 'tests', 'unit');
const out = mkdtempSync(join(tmpdir(), 'memory-profiler-ui-'));
const tests = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));
await build({
  entryPoints: tests.map((name) => join(folder, name)),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
});
const files = tests.map((name) => join(out, name.replace(/\.ts$/, '.mjs')));
const { status } = spawnSync(process.execPath, ['--test', ...files], {
  stdio: 'inherit',
  cwd: ui, // tests read files of the GUI by their path in it
});
rmSync(out, { recursive: true });
process.exit(status ?? 1);
