. "$(dirname "$0")/common.sh"
cat >a.sql <<'EOF'
PRAGMA journal_mode=WAL;
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO t SELECT i, printf('%d-%x', i, i * 7919), i / 7.0 FROM n;
CREATE INDEX tb ON t(b);
SELECT count(*), sum(a), round(total(c), 3) FROM t;
SELECT b FROM t WHERE b LIKE '99%7' ORDER BY c DESC LIMIT 3;
SELECT group_concat(x) FROM (SELECT a % 10 x, count(*) FROM t GROUP BY x ORDER BY x);
CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f SELECT b FROM t LIMIT 2000;
SELECT count(*) FROM f WHERE f MATCH '"1" OR "17"';
SELECT json_extract('{"a":[1,2,{"b":3}]}', '$.a[2].b');
DELETE FROM t WHERE a % 2; VACUUM; PRAGMA integrity_check;
EOF
under sqlite3 a.db <a.sql; echo "exit $?"
under sqlite3 a.db .dump | cksum
under sqlite3 a.db 'select nothing' ; echo "exit $?"
