'use strict';
Error.stackTraceLimit = Infinity;
let seed = 7; const rnd = n => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0, (seed >>> 8) % n);
const out = [];
let size = 100000; const keep = [];
function leaf() { const e = new Error(); size += 8; keep[size % 16] = new ArrayBuffer(size); out.push([size, e.stack]); }
const f = [];
for (let i = 0; i < 12; i++) f.push(eval(`(function fun${i}(d) { const x = d * ${i + 1}; if (d <= 0) { leaf(); return x; } let r = 0; ${i % 3 === 0 ? 'for (let k = 0; k < 3; k++) r += k;' : ''} ${i % 4 === 1 ? 'try { r += f[rnd(12)](d - 1); } finally { r++; }' : i % 4 === 2 ? '[1].forEach(function each'+i+'() { r += f[rnd(12)](d - 1); });' : i % 4 === 3 ? 'r += JSON.parse("[1]", function reviver'+i+'(k, v) { if (k === "0") r += f[rnd(12)](d - 1); return v; }).length;' : 'r += f[rnd(12)](d - 1);'} return r + x; })`));
const N = +process.argv[2] || 3000;
for (let i = 0; i < N; i++) f[rnd(12)](rnd(9));
require('fs').writeFileSync(process.argv[3], JSON.stringify(out));
