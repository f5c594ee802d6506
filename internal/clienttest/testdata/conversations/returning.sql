# returning: insert
CREATE TABLE said_r (a integer, w text DEFAULT 'none', n numeric(10,2))
INSERT INTO said_r VALUES (1, 'one', 1.5), (2, NULL, NULL) RETURNING *
INSERT INTO said_r (a) VALUES (3) RETURNING a + 1 AS next, w, upper(w), said_r.n
INSERT INTO said_r AS x (a, w) SELECT a + 10, 'more' FROM said_r RETURNING x.a, (SELECT count(*) FROM said_r)
INSERT INTO said_r DEFAULT VALUES RETURNING a, w
WITH c AS (SELECT 20 AS k) INSERT INTO said_r (a) SELECT k FROM c RETURNING a
INSERT INTO said_r (a) SELECT 1 WHERE false RETURNING a
INSERT INTO said_r (a) VALUES (99) RETURNING nothing
INSERT INTO said_r (a, w) VALUES (99, 'x') RETURNING w::integer
SELECT count(*) FROM said_r WHERE a = 99
# returning: update and delete
CREATE TABLE said_u (a integer, w text)
INSERT INTO said_u VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, NULL)
UPDATE said_u SET w = w || '!' WHERE a = 2 RETURNING *
UPDATE said_u AS x SET a = a + 10 WHERE x.a = 3 RETURNING x.a, x.w AS word
UPDATE said_u SET w = 'x' WHERE a = 99 RETURNING a
DELETE FROM said_u WHERE w IS NULL RETURNING a, w
DELETE FROM said_u x WHERE x.a > 10 RETURNING x.*
DELETE FROM said_u WHERE a = 99 RETURNING a
BEGIN; UPDATE said_u SET w = 'lost' RETURNING w
ROLLBACK
SELECT a, w FROM said_u ORDER BY a
DELETE FROM said_u WHERE a = 1 RETURNING w::integer
SELECT count(*) FROM said_u
# returning: the protocol
CREATE TABLE said_v (a integer, w text)
\prepare i INSERT INTO said_v VALUES ($1, $2) RETURNING a, w AS word
\run i 1|one
\run i 2|two
\prepare u UPDATE said_v SET w = $2 WHERE a = $1 RETURNING w
\run u 1|changed
\run u 9|changed
\prepare d DELETE FROM said_v WHERE a = $1 RETURNING a
\run d 1
PREPARE s(integer) AS INSERT INTO said_v VALUES ($1, 'sql') RETURNING a
EXECUTE s(3)
SELECT a, w FROM said_v ORDER BY a
# returning: temporary tables
CREATE TEMP TABLE said_t (a integer, w text)
INSERT INTO said_t VALUES (1, 'one'), (2, 'two') RETURNING a, w
\prepare i INSERT INTO said_t VALUES ($1, $2) RETURNING a
\run i 3|three
\prepare p INSERT INTO said_t VALUES ($1, $2)
\run p 4|four
UPDATE said_t SET w = 'x' WHERE a < 3 RETURNING a, w
DELETE FROM said_t WHERE a = 1 RETURNING a
SELECT a, w FROM said_t ORDER BY a
