. "$(dirname "$0")/common.sh"
for i in $(seq 200); do echo "$i,$((i * i)),=A$i+B$i"; done >a.csv
printf '<h1>Title</h1><p>some text</p><table><tr><td>1<td>2</table>' >b.html
chmod 644 a.csv b.html
as_user under soffice --headless --norestore --convert-to ods --outdir "$WORK/home" "$WORK/a.csv" | sed 's/using filter.*//'
echo "exit ${PIPESTATUS[0]}"
as_user under soffice --headless --norestore --convert-to csv:"Text - txt - csv (StarCalc)" --outdir "$WORK/home" "$WORK/home/a.ods" >/dev/null
echo "exit $?"
cksum <"$WORK/home/a.csv"
as_user under soffice --headless --norestore --convert-to pdf --outdir "$WORK/home" "$WORK/b.html" >/dev/null
echo "exit $?"
head -c 5 "$WORK/home/b.pdf"; echo
