. "$(dirname "$0")/common.sh"
echo '<title>t</title><body style="background:#258"><h1>recorded</h1>' >page.html
chmod 644 page.html
as_user env MOZ_CRASHREPORTER_DISABLE=1 DBUS_SESSION_BUS_ADDRESS=none MOZ_HEADLESS=1 \
	under firefox-esr --headless --no-remote --profile "$WORK/home" \
	--screenshot "$WORK/home/s.png" --window-size=320,200 "file://$WORK/page.html" >"$WORK/out" 2>"$WORK/err"
echo "exit $?"
grep -icE 'crash|fatal' "$WORK/err"
cksum <"$WORK/home/s.png"
