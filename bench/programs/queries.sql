-- An in-memory database: inserts, an index, joins, groups, text functions, many small statements.
CREATE TABLE item(id INTEGER PRIMARY KEY, kind TEXT, name TEXT, price REAL, parent INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
INSERT INTO item SELECT i, 'kind' || (i * 7919 % 97), 'name ' || (i * 104729 % 60000), i % 1000 / 8.0, i / 3 FROM n;
CREATE INDEX item_kind ON item(kind, price);
SELECT count(*), sum(length(name)) FROM item WHERE name LIKE '%77%';
SELECT kind, count(*), max(price), length(group_concat(name)) FROM item GROUP BY kind ORDER BY 2 DESC LIMIT 3;
SELECT count(DISTINCT upper(substr(a.name, 6)) || printf('%05d', b.id % 100)) FROM item a JOIN item b ON a.parent = b.id;
SELECT sum(length(replace(hex(name), '3', '--'))) FROM item;
WITH RECURSIVE up(id, path) AS (
  SELECT id, name FROM item WHERE id > 57000
  UNION ALL SELECT item.parent, up.path || '/' || item.name FROM up JOIN item ON item.id = up.id WHERE item.parent > 0)
SELECT count(*), max(length(path)) FROM up;
UPDATE item SET name = trim(name) || ':' || kind WHERE id % 3 = 0;
SELECT count(*) FROM item WHERE json_extract(json_object('k', kind, 'n', name), '$.n') LIKE '%kind1%';
DELETE FROM item WHERE id % 2;
SELECT count(*), total(price) FROM item;
