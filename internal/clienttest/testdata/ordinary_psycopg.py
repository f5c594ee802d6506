"""What programs do with psycopg 3. ../doc.go says what is printed."""
import datetime
import decimal
import resource
import sys
import threading
import traceback
import uuid

import psycopg
from psycopg import errors

DSN = sys.argv[1]
CHECKS = []
UTC = datetime.timezone.utc


def check(f):
    CHECKS.append(f)
    return f


def connect(**options):
    return psycopg.connect(DSN, **options)


@check
def connection():
    with connect(autocommit=True) as c:
        assert c.info.dbname == "csmsql" and c.info.server_version // 10000 == 15, c.info.server_version
        assert c.execute("SELECT 40 + 2").fetchone() == (42,)
        assert c.info.parameter_status("client_encoding") == "UTF8"


VALUES = [
    ("smallint", 32767), ("integer", -2147483648), ("bigint", 2**63 - 1), ("double precision", 0.1), ("real", 1.5),
    ("numeric(20,4)", decimal.Decimal("-1234567890123456.7891")), ("text", "süß 'quoted' \"double\" \\ \n \t 日本 🎉"), ("text", ""),
    ("varchar", "%s %%"), ("boolean", True), ("boolean", False), ("bytea", b"\x00\x01\xff\\'"),
    ("date", datetime.date(2024, 2, 29)), ("time", datetime.time(23, 59, 59, 999999)),
    ("timestamp", datetime.datetime(2024, 6, 30, 12, 34, 56, 789012)),
    ("timestamptz", datetime.datetime(1969, 6, 30, 12, 34, 56, 789012, tzinfo=UTC)),
    ("interval", datetime.timedelta(days=3, seconds=7, microseconds=5)), ("uuid", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    ("integer[]", [1, 2, 3]), ("text[]", ["a", 'b"c', "", "d,e", "\\"]), ("bigint[]", []), ("date[]", [datetime.date(1970, 1, 1)]),
]


@check
def parameters_of_all_types():
    with connect(autocommit=True) as c:
        for binary in (False, True):
            cursor = c.cursor(binary=binary)
            for kind, value in VALUES:
                for mark in ("%s", "%b", "%t"):
                    try:
                        got = cursor.execute(f"SELECT {mark}::{kind}", (value,)).fetchone()[0]
                    except psycopg.NotSupportedError as e:
                        if mark == "%b" and "adapt" in str(e):  # psycopg itself has no binary dumper
                            continue
                        raise AssertionError(f"{kind} {value!r} {mark} binary={binary}: {e}")
                    except psycopg.Error as e:
                        raise AssertionError(f"{kind} {value!r} {mark} binary={binary}: {e}")
                    assert got == value and type(got) is type(value), f"{kind} {mark} binary={binary}: {value!r} became {got!r}"
                assert cursor.execute(f"SELECT %s::{kind}", (None,)).fetchone()[0] is None, kind


@check
def parameters_without_casts():
    with connect(autocommit=True) as c:
        c.execute("CREATE OR REPLACE TABLE psycopg_typed (i integer, b bigint, n numeric(12,3), f double precision, t text, y bytea, o boolean, d date, ts timestamp, tz timestamptz, u uuid)")
        row = (1, 2**40, decimal.Decimal("1.250"), 0.5, "ü'", b"\x00", True, datetime.date(2020, 1, 2),
               datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC), uuid.UUID(int=7))
        marks = ", ".join(["%s"] * len(row))
        c.execute(f"INSERT INTO psycopg_typed VALUES ({marks})", row)
        c.execute(f"INSERT INTO psycopg_typed VALUES ({marks})", [None] * len(row))
        assert c.execute("SELECT * FROM psycopg_typed WHERE i IS NOT NULL").fetchall() == [row]
        assert c.execute("SELECT * FROM psycopg_typed WHERE i IS NULL").fetchall() == [(None,) * len(row)]
        for column, value in zip("i b n f t y o d ts tz u".split(), row):
            assert c.execute(f"SELECT count(*) FROM psycopg_typed WHERE {column} = %s", (value,)).fetchone() == (1,), column
        assert c.execute("SELECT count(*) FROM lineitem WHERE l_quantity < %s AND l_shipdate >= %s", (10, datetime.date(1995, 1, 1))).fetchone()[0] > 0
        assert c.execute("SELECT count(*) FROM nation WHERE n_nationkey = ANY(%s)", ([1, 2, 99],)).fetchone() == (2,)
        assert c.execute("SELECT n_name FROM nation ORDER BY 1 LIMIT %s OFFSET %s", (1, 2)).fetchone() == ("BRAZIL",)


@check
def prepared_statement_reused():
    with connect(autocommit=True, prepare_threshold=2) as c:
        for key in range(25):
            assert c.execute("SELECT n_nationkey FROM nation WHERE n_nationkey = %s", (key,)).fetchall() == [(key,)]
        for key in range(3):
            assert c.execute("SELECT r_regionkey FROM region WHERE r_regionkey = %s", (key,), prepare=True).fetchall() == [(key,)]


@check
def description():
    with connect(autocommit=True) as c:
        cursor = c.execute("SELECT l_orderkey, l_quantity, l_comment, l_shipdate, 1::bigint AS big FROM lineitem LIMIT 1")
        got = [(d.name, d.type_code) for d in cursor.description]
        assert got[1:] == [("l_quantity", 1700), ("l_comment", 25), ("l_shipdate", 1082), ("big", 20)], got
        assert (cursor.description[1].precision, cursor.description[1].scale) == (15, 2), cursor.description[1]


@check
def many_rows():
    with connect(autocommit=True) as c:
        cursor = c.execute("SELECT l_orderkey, l_linenumber FROM lineitem ORDER BY 1, 2")
        assert cursor.fetchone() == (1, 1) and cursor.fetchmany(3) == [(1, 2), (1, 3), (1, 4)]
        assert 4 + len(cursor.fetchall()) == 60175 and cursor.rowcount == 60175


@check
def named_cursor():
    with connect() as c:
        with c.cursor(name="nåmed") as cursor:
            cursor.itersize = 1000
            cursor.execute("SELECT l_orderkey, l_comment FROM lineitem WHERE l_orderkey > %s ORDER BY 1", (5,))
            assert [d.name for d in cursor.description] == ["l_orderkey", "l_comment"]
            assert len(cursor.fetchmany(10)) == 10
            other = c.execute("SELECT count(*) FROM lineitem WHERE l_orderkey > 5").fetchone()[0]
            assert 10 + sum(1 for _ in cursor) == other
            assert cursor.fetchone() is None
        with c.cursor(name="forward", binary=True) as cursor:
            cursor.execute("SELECT range::integer, 'v' || range FROM range(100)")
            cursor.scroll(50)
            assert cursor.fetchone() == (50, "v50")
        c.commit()
    with connect(autocommit=True) as c:
        try:
            c.cursor(name="nowhere").execute("SELECT 1")
            assert False, "a cursor outside of a transaction"
        except errors.NoActiveSqlTransaction:
            pass


@check
def stream():
    with connect(autocommit=True) as c:
        assert sum(row[0] for row in c.cursor().stream("SELECT range FROM range(2000)")) == 1999000


@check
def transactions():
    with connect() as c, connect(autocommit=True) as other:
        c.execute("CREATE OR REPLACE TABLE psycopg_tx (i integer)")
        c.commit()
        c.execute("INSERT INTO psycopg_tx VALUES (1)")
        assert other.execute("SELECT count(*) FROM psycopg_tx").fetchone() == (0,)
        c.rollback()
        assert c.execute("SELECT count(*) FROM psycopg_tx").fetchone() == (0,)
        with connect() as d:
            d.execute("INSERT INTO psycopg_tx VALUES (2)")
        assert other.execute("SELECT i FROM psycopg_tx").fetchall() == [(2,)]
        with other.transaction():
            other.execute("INSERT INTO psycopg_tx VALUES (3)")
        try:
            with other.transaction():
                other.execute("INSERT INTO psycopg_tx VALUES (4)")
                raise KeyError
        except KeyError:
            pass
        assert other.execute("SELECT sum(i)::integer FROM psycopg_tx").fetchone() == (5,)


@check
def nested_transactions():
    with connect(autocommit=True) as c, connect(autocommit=True) as other:
        status = lambda: c.info.transaction_status
        c.execute("CREATE OR REPLACE TABLE psycopg_nested (i integer)")
        values = lambda who: [r[0] for r in who.execute("SELECT i FROM psycopg_nested ORDER BY i").fetchall()]
        with c.transaction():
            c.execute("INSERT INTO psycopg_nested VALUES (1)")
            with c.transaction("named"):
                c.execute("INSERT INTO psycopg_nested VALUES (2)")
                for bad, kind in (
                    ("SELECT * FROM no_such_table", errors.UndefinedTable), ("SELECT 'x'::integer", errors.InvalidTextRepresentation),
                    ("INSERT INTO psycopg_nested VALUES ('no number')", errors.InvalidTextRepresentation),
                ):
                    try:
                        with c.transaction():
                            c.execute("INSERT INTO psycopg_nested VALUES (%s)", (99,))
                            c.execute("CREATE TABLE psycopg_gone (i integer)")
                            assert values(c) == [1, 2, 99]
                            try:
                                c.execute(bad)
                            finally:
                                assert status() == psycopg.pq.TransactionStatus.INERROR
                        assert False, bad
                    except kind:
                        pass
                    assert status() == psycopg.pq.TransactionStatus.INTRANS
                    assert values(c) == [1, 2] and values(other) == [], bad
                with c.transaction():
                    c.execute("INSERT INTO psycopg_nested VALUES (%s)", (3,))
                    raise psycopg.Rollback
            with c.transaction(force_rollback=True):
                c.execute("DELETE FROM psycopg_nested")
            with c.transaction():
                c.execute("UPDATE psycopg_nested SET i = i + 10 WHERE i = 2")
            assert values(c) == [1, 12] and values(other) == []
        assert values(other) == [1, 12] and status() == psycopg.pq.TransactionStatus.IDLE


@check
def prepared_by_sql():
    with connect(autocommit=True) as c:
        c.execute("PREPARE by_name(integer, text) AS SELECT n_name FROM nation WHERE n_nationkey = $1 AND n_name <> $2")
        assert c.execute("EXECUTE by_name(6, 'x')").fetchall() == [("FRANCE",)]
        assert c.execute("EXECUTE by_name(6, 'FRANCE')").fetchall() == []
        result = c.pgconn.exec_prepared(b"by_name", [b"6", b""])  # SQL and the protocol have one set of names
        assert result.get_value(0, 0) == b"FRANCE", result.error_message
        assert c.pgconn.describe_prepared(b"by_name").nparams == 2
        assert c.pgconn.prepare(b"by_name", b"SELECT 1").error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"42P05"
        c.pgconn.prepare(b"by_protocol", b"SELECT $1::integer + 1 AS n")
        assert c.execute("EXECUTE by_protocol(41)").fetchall() == [(42,)]
        try:
            c.execute("PREPARE by_protocol AS SELECT 1")
            assert False
        except errors.DuplicatePreparedStatement:
            pass
        assert [r[0] for r in c.execute("SELECT name FROM pg_prepared_statements ORDER BY name").fetchall()] == ["by_name", "by_protocol"]
        c.execute("DEALLOCATE by_protocol")
        for sql in ("EXECUTE by_protocol(1)", "DEALLOCATE by_protocol"):
            try:
                c.execute(sql)
                assert False, sql
            except errors.InvalidSqlStatementName:
                pass
        c.execute("DEALLOCATE ALL")
        assert c.pgconn.exec_prepared(b"by_name", [b"6", b""]).error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"26000"


@check
def errors_and_recovery():
    with connect() as c:
        for sql, kind, state in (
            ("SELECT * FROM no_such_table", errors.UndefinedTable, "42P01"), ("SELECT no_such_column FROM nation", errors.UndefinedColumn, "42703"),
            ("SELEC 1", errors.SyntaxError, "42601"), ("SELECT 'x'::integer", errors.InvalidTextRepresentation, "22P02"),
            ("SELECT no_such_function(1)", errors.UndefinedFunction, "42883"),
            ("CREATE TABLE nation (a integer)", errors.DuplicateTable, "42P07"),
            ("INSERT INTO nation (n_nationkey) VALUES (NULL)", errors.NotNullViolation, "23502"),
            ("SELECT 99999999999::integer", errors.NumericValueOutOfRange, "22003"),
        ):
            try:
                c.execute(sql)
                assert False, sql
            except psycopg.Error as e:
                assert isinstance(e, kind) and e.sqlstate == state, f"{sql}: {type(e).__name__} {e.sqlstate} {e}"
                assert e.diag.severity == "ERROR" and e.diag.message_primary
            assert c.info.transaction_status == psycopg.pq.TransactionStatus.INERROR, sql
            try:
                c.execute("SELECT 1")
                assert False, "a failed block must refuse statements"
            except errors.InFailedSqlTransaction:
                pass
            c.rollback()
            assert c.execute("SELECT 1").fetchone() == (1,)


@check
def copy():
    with connect() as c:
        c.execute("CREATE OR REPLACE TABLE psycopg_copy (i integer, t text, d date, n numeric(8,2))")
        rows = [(i, None if i % 7 == 0 else f"tab\t{i}\n\\ü", datetime.date(2024, 1, 1), decimal.Decimal("1.50")) for i in range(5000)]
        cursor = c.cursor()
        with cursor.copy("COPY psycopg_copy FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        assert cursor.rowcount == 5000, cursor.rowcount
        with cursor.copy("COPY psycopg_copy (i, t, d, n) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["int4", "text", "date", "numeric"])
            copy.write_row((-1, "binary", datetime.date(2000, 1, 1), decimal.Decimal("2.25")))
        with cursor.copy("COPY (SELECT * FROM psycopg_copy WHERE i >= 0 ORDER BY i) TO STDOUT") as copy:
            copy.set_types(["int4", "text", "date", "numeric"])
            assert list(copy.rows()) == rows
        with cursor.copy("COPY (SELECT * FROM psycopg_copy WHERE i < 0) TO STDOUT (FORMAT BINARY)") as copy:
            copy.set_types(["int4", "text", "date", "numeric"])
            assert list(copy.rows()) == [(-1, "binary", datetime.date(2000, 1, 1), decimal.Decimal("2.25"))]
        with cursor.copy("COPY (SELECT 1 AS a, 'x,y' AS b) TO STDOUT WITH (FORMAT csv, HEADER)") as copy:
            assert b"".join(copy) == b'a,b\n1,"x,y"\n'
        c.commit()
        try:
            with cursor.copy("COPY psycopg_copy (i) FROM STDIN") as copy:
                copy.write("1\nbad\n")
            assert False
        except errors.InvalidTextRepresentation:
            c.rollback()
        try:
            with cursor.copy("COPY psycopg_copy (i) FROM STDIN") as copy:
                copy.write("1\n")
                raise KeyError
        except errors.QueryCanceled as e:  # the driver reports it to the server, and shows the answer
            assert "KeyError" in str(e)
            c.rollback()
        except KeyError:  # newer drivers pass the program's own exception on
            c.rollback()
        assert c.execute("SELECT count(*) FROM psycopg_copy").fetchone() == (5001,)


@check
def executemany():
    with connect() as c:
        c.execute("CREATE OR REPLACE TABLE psycopg_many (i integer, t text)")
        cursor = c.cursor()
        cursor.executemany("INSERT INTO psycopg_many VALUES (%s, %s)", [(i, f"v{i}") for i in range(200)])
        assert cursor.rowcount == 200, cursor.rowcount
        c.commit()
        assert c.execute("SELECT count(*), sum(i)::integer FROM psycopg_many").fetchone() == (200, 19900)


@check
def pipeline():
    with connect(autocommit=True) as c:
        with c.pipeline():
            cursors = [c.execute("SELECT %s::integer", (i,)) for i in range(20)]
        assert [cursor.fetchone()[0] for cursor in cursors] == list(range(20))


@check
def cancel():
    with connect(autocommit=True) as c:
        timer = threading.Timer(0.2, c.cancel)
        timer.start()
        try:
            c.execute("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range = -1")
            assert False
        except errors.QueryCanceled:
            pass
        finally:
            timer.join()
        assert c.execute("SELECT 1").fetchone() == (1,)


@check
def large_result_in_bounded_memory():
    with connect() as c, c.cursor(name="large") as cursor:
        cursor.itersize = 20000
        cursor.execute("SELECT range::integer AS i, 'a text of some length ' || range AS t FROM range(1000000)")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        count = sum(1 for _ in cursor)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert count == 1000000 and grown < 48 << 10, f"{count} rows, {grown} KiB"


@check
def notifications():
    with connect(autocommit=True) as c, connect(autocommit=True) as writer:
        writer.execute("CREATE OR REPLACE TABLE psycopg_heard (i integer)")
        c.execute("LISTEN csm_table_psycopg_heard")
        heard, last = c.notifies(), 0
        for i in range(5):
            writer.execute("INSERT INTO psycopg_heard VALUES (%s)", (i,))
            n = next(heard)
            assert n.channel == "csm_table_psycopg_heard" and int(n.payload) > last and n.pid > 0, n
            last = int(n.payload)
        heard.close()
        seen = []
        c.add_notify_handler(lambda n: seen.append(n.payload))
        with c.transaction():
            writer.execute("DELETE FROM psycopg_heard")
            c.execute("SELECT 1")
            assert seen == [], seen
        assert len(seen) == 1 and int(seen[0]) > last, seen
        c.execute("UNLISTEN *")
        writer.execute("DROP TABLE psycopg_heard")
        c.execute("SELECT 1")
        assert len(seen) == 1, seen
        try:
            c.execute("NOTIFY psycopg_heard")
            raise AssertionError("NOTIFY was taken")
        except psycopg.NotSupportedError as e:
            assert e.sqlstate == "0A000", e.sqlstate


def main():
    print("checks\t" + " ".join(f.__name__ for f in CHECKS), flush=True)
    for f in CHECKS:
        try:
            f()
            print(f"ok\t{f.__name__}", flush=True)
        except BaseException:
            last = traceback.format_exc().strip().replace("\n", " | ")
            print(f"fail\t{f.__name__}\t{last}", flush=True)


main()
