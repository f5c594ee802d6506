# prepared: types, values, results
CREATE TABLE said_q (a integer, w text, n numeric(10,2), d date)
INSERT INTO said_q VALUES (1, 'one', 1.50, '2024-01-01'), (2, 'two', 2.50, '2024-02-01'), (3, NULL, NULL, NULL)
PREPARE q(integer) AS SELECT a, w FROM said_q WHERE a >= $1 ORDER BY a
EXECUTE q(2)
EXECUTE q('3')
EXECUTE q(1 + 1)
EXECUTE q(2.6)
EXECUTE q(NULL)
EXECUTE q(length('ab'))
EXECUTE q(-1); EXECUTE q(3)
PREPARE open AS SELECT a FROM said_q WHERE a = $1 OR w = $2 OR n = $3 OR d = $4 ORDER BY a
EXECUTE open(1, 'two', 0, '2024-01-01')
EXECUTE open(0, 'x', 2.5, NULL)
EXECUTE open(0, 'x', 1.5, date '2024-02-01')
PREPARE word AS SELECT $1
EXECUTE word('x')
EXECUTE word(5)
PREPARE sum AS SELECT $1 + 1, $1 * 2.5, $2 || 'x', upper($2)
EXECUTE sum(2, 'a')
PREPARE twice(numeric, text) AS SELECT $1, $1 + $1, $2, $2 || $2
EXECUTE twice(1.23456, 'ab')
EXECUTE twice(12345678901234567890.5, 'it''s')
PREPARE moment(timestamp, interval, boolean, double precision, bytea) AS SELECT $1, $1 + $2, NOT $3, $4 / 2, octet_length($5)
EXECUTE moment('2024-01-01 12:00', '1 day', true, 3, '\x00ff')
PREPARE listed(integer[]) AS SELECT a FROM said_q WHERE a = ANY ($1) ORDER BY a
EXECUTE listed('{1,3}')
EXECUTE listed(ARRAY[2])
PREPARE some AS SELECT a FROM said_q ORDER BY a LIMIT $1
EXECUTE some(2)
PREPARE none AS SELECT count(*) FROM said_q
EXECUTE none
PREPARE v AS VALUES (1, 'a'), (2, 'b')
EXECUTE v
PREPARE w AS WITH x AS (SELECT $1::integer AS y) SELECT y + 1 FROM x
EXECUTE w(41)
# prepared: writing
CREATE TABLE said_w (a integer, w text)
PREPARE ins AS INSERT INTO said_w VALUES ($1, $2)
EXECUTE ins(1, 'one'); EXECUTE ins('2', NULL)
EXECUTE ins('x', 'y')
PREPARE upd(text, integer) AS UPDATE said_w SET w = $1 WHERE a = $2
EXECUTE upd('changed', 2)
EXECUTE upd('changed', 9)
PREPARE del(integer) AS DELETE FROM said_w WHERE a < $1
SELECT a, w FROM said_w ORDER BY a
EXECUTE del(2)
SELECT a, w FROM said_w ORDER BY a
PREPARE many AS INSERT INTO said_w SELECT a + $1, w FROM said_w
EXECUTE many(10)
BEGIN; EXECUTE ins(7, 'seven'); ROLLBACK
SELECT count(*) FROM said_w
# prepared: names
PREPARE a AS SELECT 1
PREPARE a AS SELECT 2
EXECUTE a
EXECUTE nothing
EXECUTE nothing(1, 2)
EXECUTE a(1)
PREPARE b(integer, text) AS SELECT $1, $2
EXECUTE b
EXECUTE b(1)
EXECUTE b(1, 'x', 2)
PREPARE c(integer) AS SELECT 1
EXECUTE c
EXECUTE c(7)
DEALLOCATE a
EXECUTE a
DEALLOCATE a
DEALLOCATE PREPARE b
DEALLOCATE ALL
EXECUTE c(7)
DEALLOCATE ALL
PREPARE "A b" AS SELECT 'quoted'
EXECUTE "A b"
BEGIN
PREPARE kept AS SELECT 'kept'
ROLLBACK
EXECUTE kept
SELECT name, statement, from_sql FROM pg_prepared_statements ORDER BY name
DISCARD ALL
EXECUTE kept
SELECT count(*) FROM pg_prepared_statements
# prepared: errors
CREATE TABLE said_x (a integer)
PREPARE e AS SELECT * FROM said_nowhere WHERE a = $1
PREPARE e AS SELECT nothing FROM said_x
PREPARE e(no_such_type) AS SELECT $1
PREPARE e AS CREATE TABLE said_y (a integer)
PREPARE e AS SELEC 1
PREPARE e AS
EXECUTE e
PREPARE f(integer) AS SELECT a FROM said_x WHERE a = $1
EXECUTE f('x')
EXECUTE f((SELECT 1))
EXECUTE f(nothing)
EXECUTE f($1)
EXECUTE f(1,)
BEGIN; EXECUTE nothing
EXECUTE f(1)
PREPARE g AS SELECT 1
ROLLBACK
EXECUTE f(1)
BEGIN; EXECUTE f('x')
ROLLBACK
DROP TABLE said_x
EXECUTE f(1)
CREATE TABLE said_x (a integer, b text)
EXECUTE f(1)
# prepared: the protocol's names are SQL's
PREPARE s(integer, text) AS SELECT $1 + 1 AS n, $2 AS w
\run s 41|x
\prepare s SELECT 1
\prepare p SELECT $1::integer + 1 AS n
EXECUTE p(41)
PREPARE p AS SELECT 2
SELECT name, from_sql FROM pg_prepared_statements ORDER BY name
\run p 1
DEALLOCATE p
\run p 1
EXECUTE p(1)
DEALLOCATE s
\run s 41|x
EXECUTE s(1, 'x')
\prepare s SELECT 1
EXECUTE s
DEALLOCATE ALL
\run s
\prepare x EXECUTE nothing(1)
PREPARE y(integer) AS SELECT $1 + 1
\prepare x EXECUTE y(41)
\run x
DEALLOCATE y
\run x
# prepared: cached plans follow the tables
CREATE TABLE said_z (a integer)
PREPARE z AS SELECT * FROM said_z
EXECUTE z
INSERT INTO said_z VALUES (1)
EXECUTE z
BEGIN; TRUNCATE said_z; EXECUTE z
ROLLBACK; EXECUTE z
EXPLAIN EXECUTE nothing
