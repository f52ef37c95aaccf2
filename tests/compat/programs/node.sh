. "$(dirname "$0")/common.sh"
cat >a.mjs <<'EOF'
import { Worker, isMainThread, parentPort } from "node:worker_threads";
import { execFileSync, fork, spawnSync } from "node:child_process";
import crypto from "node:crypto";
import http from "node:http";
import zlib from "node:zlib";
if (process.argv[2] === "child") {
	process.send({ got: 1 });
	process.disconnect();
} else if (!isMainThread) {
	parentPort.postMessage([..."worker"].length);
} else {
	const objects = Array.from({ length: 200000 }, (_, i) => ({ i, s: String(i) }));
	console.log(JSON.parse(JSON.stringify(objects)).length);
	console.log(crypto.createHash("sha256").update(Buffer.alloc(1 << 20)).digest("hex"));
	console.log(zlib.gunzipSync(zlib.gzipSync(Buffer.alloc(1 << 22))).length);
	console.log(await new Promise(done => new Worker(process.argv[1]).once("message", done)));
	console.log(await new Promise(done => fork(process.argv[1], ["child"]).once("message", done)));
	console.log(execFileSync("echo", ["from a child"]).toString().trim());
	console.log(spawnSync("sh", ["-c", "kill -SEGV $$"]).signal);
	const server = http.createServer((q, a) => a.end("x".repeat(10000))).listen(Number(process.env.PORT), "127.0.0.1");
	await new Promise(done => server.once("listening", done));
	let total = 0;
	for (let i = 0; i < 300; i++)
		total += (await (await fetch(`http://127.0.0.1:${process.env.PORT}/`)).text()).length;
	console.log(total);
	process.once("SIGUSR2", () => { console.log("SIGUSR2"); server.closeAllConnections(); server.close(); });
	process.kill(process.pid, "SIGUSR2");
}
EOF
under node a.mjs
echo "exit $?"
under node -e 'process.on("exit", () => console.log("bye")); process.exit(3)'
echo "exit $?"
under node -e 'process.abort()' >/dev/null 2>&1
echo "exit $?"
under node -e 'console.log(require("fs").readdirSync("/proc/self/fd").length)'
