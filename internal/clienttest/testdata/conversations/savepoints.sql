# savepoints: back and forth
CREATE TABLE said_s (a integer, w text)
BEGIN
INSERT INTO said_s VALUES (1, 'one')
SAVEPOINT a
INSERT INTO said_s VALUES (2, 'two')
SAVEPOINT b
DELETE FROM said_s
SELECT count(*) FROM said_s
ROLLBACK TO b
SELECT a, w FROM said_s ORDER BY a
ROLLBACK TO SAVEPOINT a
SELECT a, w FROM said_s ORDER BY a
ROLLBACK TO b
ROLLBACK TO a
SELECT a, w FROM said_s ORDER BY a
RELEASE a
INSERT INTO said_s VALUES (3, NULL)
COMMIT
SELECT a, w FROM said_s ORDER BY a
# savepoints: errors
CREATE TABLE said_e (a integer)
SAVEPOINT a
RELEASE a
ROLLBACK TO a
SELECT 1; SAVEPOINT a
BEGIN; SAVEPOINT a; SELECT * FROM said_nowhere
SELECT 1
SAVEPOINT b
RELEASE a
ROLLBACK TO a
SELECT 1
SELECT 'x'::integer
ROLLBACK TO a; INSERT INTO said_e VALUES (1); SELECT 'x'::integer
COMMIT TO a
ROLLBACK TO nothing
ROLLBACK TO a
RELEASE nothing
ROLLBACK TO a
INSERT INTO said_e VALUES (2)
RELEASE SAVEPOINT a
SELECT nothing
COMMIT
SELECT count(*) FROM said_e
# savepoints: one name twice
CREATE TABLE said_n (a integer)
BEGIN; SAVEPOINT a; INSERT INTO said_n VALUES (1); SAVEPOINT a; INSERT INTO said_n VALUES (2)
SELECT count(*) FROM said_n
ROLLBACK TO a
SELECT count(*) FROM said_n
RELEASE a
ROLLBACK TO a
SELECT count(*) FROM said_n
RELEASE a
RELEASE a
ROLLBACK
BEGIN; SAVEPOINT "Quoted Name"; SAVEPOINT savepoint; INSERT INTO said_n VALUES (1)
ROLLBACK TO savepoint; ROLLBACK TRANSACTION TO "Quoted Name"; RELEASE savepoint
ROLLBACK
# savepoints: names come and go
BEGIN; CREATE TABLE said_made (a integer); SAVEPOINT a; DROP TABLE said_made; CREATE TABLE said_made (b text)
INSERT INTO said_made VALUES ('x')
SELECT b FROM said_made
ROLLBACK TO a
SELECT b FROM said_made
ROLLBACK TO a
INSERT INTO said_made VALUES (7)
SELECT a FROM said_made
SAVEPOINT b; CREATE VIEW said_view AS SELECT a + 1 AS c FROM said_made
SELECT c FROM said_view
ROLLBACK TO b
SELECT c FROM said_view
ROLLBACK TO b; RELEASE b; COMMIT
SELECT a FROM said_made
# savepoints: cursors and settings
CREATE TABLE said_c (a integer)
INSERT INTO said_c VALUES (1), (2), (3)
BEGIN; DECLARE old CURSOR FOR SELECT a FROM said_c ORDER BY a; FETCH old
SAVEPOINT a
SET LOCAL timezone = 'Asia/Tokyo'; SET application_name = 'said'
FETCH old
DECLARE young CURSOR FOR SELECT a FROM said_c ORDER BY a
FETCH young
SHOW timezone; SHOW application_name
ROLLBACK TO a
SHOW timezone; SHOW application_name
FETCH old
FETCH young
ROLLBACK TO a
SET application_name = 'kept'; SET LOCAL timezone = 'Asia/Tokyo'
COMMIT
SHOW timezone; SHOW application_name
BEGIN; SET application_name = 'lost'
ROLLBACK
SHOW application_name
SET application_name = 'lost'; SELECT 'x'::integer
SHOW application_name
# savepoints: a portal of what is rolled back
CREATE TABLE said_p (a integer)
\prepare insert INSERT INTO said_p VALUES ($1)
\prepare ask SELECT count(*) FROM said_p WHERE a = $1
BEGIN
\run insert 1
SAVEPOINT a
\run insert 2
\run ask 2
\run insert x
\run ask 2
ROLLBACK TO a
\run ask 2
\run ask 1
COMMIT
\run ask 1
