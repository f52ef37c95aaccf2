import java.util.Random;
import java.util.zip.Deflater;

/** Allocates through native methods, from recursive Java code. usage: Deflate TIMES */
public class Deflate {
    static int pack(byte[] in, byte[] out) {
        Deflater d = new Deflater(1);
        d.setInput(in);
        d.finish();
        int n = d.deflate(out);
        d.end();
        return n;
    }

    static int recurse(int depth, byte[] in, byte[] out) {
        return depth == 0 ? pack(in, out) : recurse(depth - 1, in, out) + 1;
    }

    public static void main(String[] args) {
        byte[] in = new byte[100];
        byte[] out = new byte[400];
        long n = 0;
        new Random(1).nextBytes(in);
        for (int i = 0; i < Integer.parseInt(args[0]); i++)
            n += recurse(i % 7, in, out);
        System.out.println(n);
    }
}
