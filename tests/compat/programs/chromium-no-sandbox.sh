# As root, without the sandbox.
. "$(dirname "$0")/common.sh"
echo '<p id=a></p><script>a.textContent = [..."recorded"].map(c => c + 1).join()</script>' >page.html
chmod 644 page.html
under /usr/lib/chromium/chromium --headless --no-sandbox --disable-gpu --user-data-dir="$WORK/c" \
	--no-first-run --disable-background-networking --dump-dom "file://$WORK/page.html" 2>"$WORK/err"
echo "exit $?"
grep -iE 'fatal|crash|signal|zygote|sandbox|GPU process' "$WORK/err"
under /usr/lib/chromium/chromium --headless --no-sandbox --disable-gpu --user-data-dir="$WORK/c2" \
	--no-first-run --disable-background-networking --screenshot="$WORK/s.png" --window-size=320,200 \
	"file://$WORK/page.html" 2>/dev/null
echo "exit $?"
cksum <"$WORK/s.png"
