# functions: a parameter of a table function
CREATE TABLE said_f (a integer, w text)
\ask 3 INSERT INTO said_f SELECT i, 'w' || i FROM generate_series(1, $1) AS g(i)
\ask 2|4 SELECT i * 2 FROM generate_series($1::integer, $2::integer) AS g(i)
\ask x|3 SELECT $1, i FROM generate_series(1, $2) AS g(i) WHERE i > 1
\ask 2|w3 SELECT a, w FROM said_f, generate_series(1, $1) AS g(i) WHERE a = i AND w <> $2 ORDER BY a
\ask 2024-01-01|2024-01-03 SELECT d::date FROM generate_series($1::timestamp, $2::timestamp, interval '1 day') AS g(d)
\ask x SELECT * FROM generate_series(1, $1)
\prepare d DELETE FROM said_f WHERE a IN (SELECT i FROM generate_series(1, $1::integer) AS g(i))
\run d 1
\run d 2
SELECT a FROM said_f ORDER BY a
PREPARE series AS SELECT * FROM generate_series(1, $1)
EXECUTE series(2)
EXECUTE series(1 + 2)
# settings: all of them
\prepare a SHOW ALL
SET application_name = 'said'
SELECT setting FROM pg_settings WHERE name = 'application_name'
# functions: text and bytes
SELECT encode('\x00ff6162', 'hex'), encode('\x00ff6162', 'base64')
SELECT decode('00ff6162', 'hex'), decode('AP9hYg==', 'base64')
SELECT encode(decode('DEADbeef', 'hex'), 'hex'), length(encode(w::bytea, 'base64')) FROM (VALUES ('word')) AS x(w)
SELECT encode(NULL::bytea, 'hex'), decode(NULL, 'hex')
SELECT decode('xyz', 'hex')
SELECT encode('\x00', 'nonsense')
SELECT initcap('hello wORLD 1st o''neil'), initcap(NULL)
# functions: to_char of times
SELECT to_char(timestamp '2024-03-05 14:07:09.123456', 'YYYY-MM-DD HH24:MI:SS'), to_char(timestamp '2024-03-05 14:07:09.123456', 'DD.MM.YY HH12:MI AM'), to_char(date '2024-03-05', 'YYYYMMDD')
SELECT to_char(timestamp '2024-03-05 04:07:09.123456', 'MS US SS.US'), to_char(timestamp '2024-03-05 04:07:09', 'HH:MI:SS pm'), to_char(timestamp '2024-03-05 00:07:09', 'HH12 HH am A.M. p.m.')
SELECT to_char(timestamp '2024-03-05 04:07:09', 'Day, DD Month YYYY'), to_char(timestamp '2024-03-05 04:07:09', 'FMDay, FMDD FMMonth YYYY'), to_char(timestamp '2024-05-05', 'DY Dy dy MON Mon mon')
SELECT to_char(timestamp '2024-03-05 04:07:09', 'DAY|day|MONTH|month|Q|WW|DDD|D|ID|IW|IYYY|J'), to_char(timestamp '2024-12-31', 'IYYY-IW-ID DDD CC')
SELECT to_char(timestamp '2024-03-05 04:07:09', '"Year:" YYYY"T"HH24'), to_char(timestamp '2024-03-05 04:07:09', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), to_char(timestamp '2024-03-05', 'text % %Y 100%')
SELECT to_char(timestamptz '2024-03-05 04:07:09+00', 'YYYY-MM-DD HH24:MI:SS TZ OF'), to_char(timestamp '2024-03-05 04:07:09', 'SSSS'), to_char(timestamp '0099-03-05', 'YYYY YY Y')
SELECT to_char(NULL::timestamp, 'YYYY'), to_char(timestamp '2024-03-05', NULL), to_char(timestamp '2024-03-05', '')
SELECT to_char(d, 'YYYY-MM') AS month, count(*) FROM (VALUES (date '2024-01-05'), (date '2024-01-06'), (date '2024-02-01')) AS x(d) GROUP BY 1 ORDER BY 1
SELECT to_char(d, f) FROM (VALUES (timestamp '2024-03-05 04:07:09', 'HH24'), (timestamp '2024-03-05 04:07:09', 'YYYY')) AS x(d, f)
SELECT to_char(interval '26 hours 5 minutes', 'HH24:MI:SS'), to_char(interval '3 days', 'DD')
CREATE TABLE said_m (d timestamp, i interval)
INSERT INTO said_m VALUES ('2024-03-05 04:07:09', '26 hours'), (NULL, NULL)
CREATE VIEW said_mv AS SELECT to_char(d, 'YYYY "Q"Q') AS q, to_char(i, 'HH24:MI') AS h, to_char(d, 'FMMonth DDth') AS m, initcap(to_char(d, 'DAY')) AS w FROM said_m
SELECT * FROM said_mv ORDER BY q
SELECT to_char(d, 'YYYY-MM'), count(*) FROM said_m GROUP BY to_char(d, 'YYYY-MM') ORDER BY to_char(d, 'YYYY-MM')
SELECT to_char(max(d), 'HH24') || to_char(to_char(max(d), 'YYYY')::integer + 1, 'FM9999') FROM said_m WHERE to_char(d, 'MM') = '03'
UPDATE said_m SET d = d + interval '1 day' WHERE to_char(d, 'YYYY') = '2024' RETURNING to_char(d, 'DD.MM.YYYY')
SELECT to_char(sum(a), 'FM999,990.00'), to_char(avg(a), '99.9'), to_char(count(*), '99'), encode(max(w)::bytea, 'hex') FROM (VALUES (1, 'a'), (2, 'b')) AS x(a, w)
# functions: to_char of numbers
SELECT to_char(1234.5, '9999.99'), to_char(1234.567, 'FM9999.99'), to_char(-12, '999'), to_char(12, '000'), to_char(12, 'FM000'), to_char(0, '9'), to_char(0.5, '9.99'), to_char(0.5, '0.99'), to_char(0.5, 'FM9.99')
SELECT to_char(1234567.891, '9,999,999.99'), to_char(1234567.891, 'FM9,999,999.00'), to_char(123, '9,999'), to_char(12345, '999'), to_char(-1234.5, 'FM9,999.0'), to_char(1, 'FM9.00')
SELECT to_char(12.5::double precision, '99.9'), to_char(7::bigint, '99'), to_char(-0.1, '9.9'), to_char(-0.1, 'FM0.0'), to_char(485, '9 9 9'), to_char(5, 'FM09')
SELECT to_char(NULL::integer, '99'), to_char(1234, '$9,999'), to_char(1234, 'FM$9,999'), to_char(12, 'S99'), to_char(-12, 'S99'), to_char(-12, '99MI'), to_char(12, 'FM99MI'), to_char(-12, '99PR')
