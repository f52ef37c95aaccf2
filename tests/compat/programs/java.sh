. "$(dirname "$0")/common.sh"
cat >Main.java <<'EOF'
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
public class Main {
	static int depth(int n) { return depth(n + 1); }
	public static void main(String[] args) throws Exception {
		System.out.println(IntStream.range(0, 2000000).mapToObj(Integer::toString).collect(Collectors.toSet()).size());
		ExecutorService pool = Executors.newFixedThreadPool(8);
		List<Future<Integer>> all = new ArrayList<>();
		for (int i = 0; i < 64; i++) { final int n = i; all.add(pool.submit(() -> new byte[1 << 20].length + n)); }
		long sum = 0;
		for (Future<Integer> f : all) sum += f.get();
		pool.shutdown();
		System.out.println(sum);
		try { depth(0); } catch (StackOverflowError e) { System.out.println("stack overflow"); }
		String s = null;
		for (int i = 0; i < 20000; i++) try { s.length(); } catch (NullPointerException e) { sum++; }
		System.out.println(sum);
		java.util.zip.Deflater d = new java.util.zip.Deflater();
		d.setInput(new byte[1 << 22]); d.finish();
		System.out.println(d.deflate(new byte[1 << 20])); d.end();
		System.out.println(new String(new ProcessBuilder("echo", "from a child").start().getInputStream().readAllBytes()).trim());
		System.out.println(java.nio.ByteBuffer.allocateDirect(1 << 20).capacity());
		Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
		System.exit(5);
	}
}
EOF
under javac Main.java
echo "javac $?"
for gc in Serial G1 Parallel; do
	under java -XX:+Use${gc}GC -Xmx256m Main
	echo "exit $?"
done
under java -Xmx256m -Xint -version 2>&1 | head -1
under jshell - <<<'System.out.println(6 * 7)' 2>&1
