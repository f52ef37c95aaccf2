// JSON.parse, buffers and maps: V8 and node allocate from JavaScript, through builtins and JIT code.
'use strict';
const text = JSON.stringify({
  a: 'x'.repeat(3000), b: Array.from({ length: 50 }, (_, i) => ({ k: i, v: `y${i}` })),
});
let n = 0;
class Tree {
  constructor(depth) {
    this.left = depth ? new Tree(depth - 1) : null;
    this.bytes = depth % 3 === 0 ? Buffer.allocUnsafeSlow(64 + depth) : null;
  }
}
for (let i = 0; i < 40000; i++) {
  n += JSON.parse(text).a.length;
  if (i % 4 === 0) n += new Tree(9).bytes.length;
}
console.log(n);
