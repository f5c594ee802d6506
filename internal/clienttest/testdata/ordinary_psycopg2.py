"""What programs do with psycopg2, which writes its parameters into the text. ../doc.go says what is printed."""
import datetime
import decimal
import io
import resource
import select
import sys
import traceback
import uuid

import psycopg2
import psycopg2.extras
from psycopg2 import errors

DSN = sys.argv[1]
CHECKS = []
UTC = datetime.timezone.utc
psycopg2.extras.register_uuid()


def check(f):
    CHECKS.append(f)
    return f


def connect(autocommit=False):
    c = psycopg2.connect(DSN)
    c.autocommit = autocommit
    return c


def ask(c, sql, args=None):
    cursor = c.cursor()
    cursor.execute(sql, args)
    return cursor.fetchall()


@check
def connection():
    c = connect(True)
    assert c.server_version // 10000 == 15 and c.encoding == "UTF8"
    assert ask(c, "SELECT 40 + 2") == [(42,)]
    c.close()


@check
def parameters_of_all_types():
    c = connect(True)
    for kind, value in [
        ("integer", -2147483647), ("bigint", 2**63 - 1), ("double precision", 0.1), ("numeric(20,4)", decimal.Decimal("-1234567890123456.7891")),
        ("text", "süß 'quoted' \"double\" \n \t 日本 🎉"), ("text", "back\\slash"), ("varchar", "%s %%"), ("boolean", True), ("date", datetime.date(2024, 2, 29)),
        ("time", datetime.time(23, 59, 59, 999999)), ("timestamp", datetime.datetime(2024, 6, 30, 12, 34, 56, 789012)),
        ("timestamptz", datetime.datetime(1969, 6, 30, 12, 34, 56, 789012, tzinfo=UTC)), ("interval", datetime.timedelta(days=3, seconds=7)),
        ("uuid", uuid.UUID("12345678-1234-5678-1234-567812345678")), ("integer[]", [1, 2, 3]), ("text[]", ["a", 'b"c', "", "d,e"]),
    ]:
        try:
            got = ask(c, f"SELECT %s::{kind}", (value,))[0][0]
        except psycopg2.Error as e:
            raise AssertionError(f"{kind} {value!r}: {e}")
        assert got == value, f"{kind}: {value!r} became {got!r}"
        assert ask(c, f"SELECT %s::{kind}", (None,)) == [(None,)]


@check
def bytes_in_and_out():
    c = connect(True)
    assert bytes(ask(c, "SELECT %s::bytea", (b"\x00\x01\xff\\'",))[0][0]) == b"\x00\x01\xff\\'"


@check
def fetching():
    c = connect(True)
    cursor = c.cursor()
    cursor.execute("SELECT l_orderkey, l_quantity FROM lineitem ORDER BY l_orderkey, l_linenumber")
    assert cursor.fetchone()[0] == 1 and len(cursor.fetchmany(99)) == 99 and len(cursor.fetchall()) == 60075
    assert [d.name for d in cursor.description] == ["l_orderkey", "l_quantity"] and cursor.description[1].type_code == 1700
    d = c.cursor(cursor_factory=psycopg2.extras.RealDictCursor)
    d.execute("SELECT n_name AS name FROM nation WHERE n_nationkey IN %s ORDER BY 1", ((0, 1),))
    assert [dict(row) for row in d.fetchall()] == [{"name": "ALGERIA"}, {"name": "ARGENTINA"}]


@check
def named_cursor():
    c = connect()
    cursor = c.cursor("mine")
    cursor.itersize = 10000
    cursor.execute("SELECT l_orderkey FROM lineitem WHERE l_orderkey > %s ORDER BY 1", (5,))
    first = cursor.fetchmany(7)
    assert len(first) == 7 and cursor.description[0].name == "l_orderkey"
    cursor.scroll(3)
    assert 10 + sum(1 for _ in cursor) == ask(c, "SELECT count(*) FROM lineitem WHERE l_orderkey > 5")[0][0]
    cursor.close()
    c.commit()


@check
def transactions():
    c, other = connect(), connect(True)
    ask(c, "SELECT 1")
    c.rollback()
    c.cursor().execute("CREATE OR REPLACE TABLE psycopg2_tx (i integer)")
    c.commit()
    c.cursor().execute("INSERT INTO psycopg2_tx VALUES (1)")
    assert ask(other, "SELECT count(*) FROM psycopg2_tx") == [(0,)]
    c.rollback()
    with c:
        c.cursor().execute("INSERT INTO psycopg2_tx VALUES (2)")
    assert ask(other, "SELECT * FROM psycopg2_tx") == [(2,)]
    c.set_session(isolation_level="REPEATABLE READ", readonly=True)
    try:
        c.cursor().execute("INSERT INTO psycopg2_tx VALUES (3)")
        assert False, "a read-only transaction wrote"
    except errors.ReadOnlySqlTransaction:
        c.rollback()


@check
def errors_and_recovery():
    c = connect()
    for sql, kind in (("SELECT * FROM no_such_table", errors.UndefinedTable), ("SELEC 1", errors.SyntaxError), ("SELECT 'x'::integer", errors.InvalidTextRepresentation)):
        try:
            ask(c, sql)
            assert False, sql
        except kind as e:
            assert e.diag.severity == "ERROR"
        try:
            ask(c, "SELECT 1")
            assert False, "a failed block must refuse statements"
        except errors.InFailedSqlTransaction:
            c.rollback()
    assert ask(c, "SELECT 1") == [(1,)]


@check
def copy():
    c = connect()
    cursor = c.cursor()
    cursor.execute("CREATE OR REPLACE TABLE psycopg2_copy (i integer, t text)")
    cursor.copy_from(io.StringIO("".join(f"{i}\tü{i}\n" for i in range(1000))), "psycopg2_copy", columns=("i", "t"))
    assert cursor.rowcount == 1000
    cursor.copy_expert("COPY psycopg2_copy FROM STDIN WITH (FORMAT csv, HEADER)", io.StringIO('i,t\n1000,"a,b"\n'))
    out = io.StringIO()
    cursor.copy_to(out, "psycopg2_copy", sep="|", null="-")
    assert len(out.getvalue().splitlines()) == 1001
    out = io.StringIO()
    cursor.copy_expert("COPY (SELECT * FROM psycopg2_copy WHERE i >= 999 ORDER BY i) TO STDOUT WITH CSV", out)
    assert out.getvalue() == '999,ü999\n1000,"a,b"\n', out.getvalue()
    c.commit()


@check
def many_inserts():
    c = connect()
    cursor = c.cursor()
    cursor.execute("CREATE OR REPLACE TABLE psycopg2_many (i integer, t text, d date)")
    rows = [(i, f"v'{i}", datetime.date(2024, 1, 1)) for i in range(100)]
    cursor.executemany("INSERT INTO psycopg2_many VALUES (%s, %s, %s)", rows)
    psycopg2.extras.execute_values(cursor, "INSERT INTO psycopg2_many (i, t, d) VALUES %s", rows)
    psycopg2.extras.execute_batch(cursor, "INSERT INTO psycopg2_many VALUES (%s, %s, %s)", rows)
    c.commit()
    assert ask(c, "SELECT count(*), sum(i)::integer FROM psycopg2_many") == [(300, 3 * 4950)]


@check
def large_result_in_bounded_memory():
    c = connect()
    cursor = c.cursor("large")
    cursor.itersize = 20000
    cursor.execute("SELECT range::integer AS i, 'a text of some length ' || range AS t FROM range(1000000)")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = sum(1 for _ in cursor)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert count == 1000000 and grown < 48 << 10, f"{count} rows, {grown} KiB"


@check
def notifications():
    c, writer = connect(), connect()
    c.autocommit = writer.autocommit = True
    writer.cursor().execute("CREATE OR REPLACE TABLE psycopg2_heard (i integer)")
    c.cursor().execute("LISTEN csm_table_psycopg2_heard")
    writer.cursor().execute("INSERT INTO psycopg2_heard VALUES (1)")
    assert select.select([c], [], [], 30)[0], "nothing came"
    c.poll()
    assert [(n.channel, n.payload) for n in c.notifies] == [("csm_table_psycopg2_heard", "2")], c.notifies
    writer.cursor().execute("DROP TABLE psycopg2_heard")
    c.close()
    writer.close()


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
