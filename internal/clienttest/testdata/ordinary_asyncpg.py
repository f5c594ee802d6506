"""What programs do with asyncpg, which describes every statement and speaks binary alone. ../doc.go says what is printed."""
import asyncio
import datetime
import decimal
import io
import sys
import traceback
import uuid

import asyncpg

HOST, PORT = sys.argv[1], int(sys.argv[2])
CHECKS = []
UTC = datetime.timezone.utc
WHERE = {"host": HOST, "port": PORT, "user": "postgres", "database": "csmsql"}
LONG = "SELECT count(*) FROM range(100000000000) t(i) WHERE i % 7 = 3"


def check(f):
    CHECKS.append(f)
    return f


class connected:
    def __init__(self, **options):
        self.options = options

    async def __aenter__(self):
        self.connection = await asyncpg.connect(**WHERE, **self.options)
        return self.connection

    async def __aexit__(self, *_):
        await self.connection.close()


async def fails(state, awaitable):
    try:
        await awaitable
    except asyncpg.PostgresError as e:
        assert e.sqlstate == state, (e.sqlstate, e)
        return e
    raise AssertionError(f"no error, want {state}")


VALUES = [
    ("smallint", 32767), ("integer", -2147483648), ("bigint", 2**63 - 1), ("double precision", 0.1), ("real", 1.5),
    ("numeric(20,4)", decimal.Decimal("-1234567890123456.7891")), ("text", "süß \\ \n 🎉"), ("varchar(5)", "abc"), ("boolean", True),
    ("bytea", b"\x00\x01\xff\\'"), ("date", datetime.date(2024, 2, 29)), ("time", datetime.time(23, 59, 59, 999999)),
    ("timestamp", datetime.datetime(2024, 6, 30, 12, 34, 56, 789012)),
    ("timestamptz", datetime.datetime(1969, 6, 30, 12, 34, 56, 789012, tzinfo=UTC)),
    ("interval", datetime.timedelta(days=3, seconds=7, microseconds=5)), ("uuid", uuid.UUID(int=7)), ("json", '{"a": 1}'),
    ("integer[]", [1, None, 3]), ("text[]", ["a", 'b"c', "", "d,e", "\\", None]), ("bigint[]", []), ("date[]", [datetime.date(1970, 1, 1)]),
    ("numeric(10,2)[]", [decimal.Decimal("1.25")]), ("boolean[]", [True, None]), ("uuid[]", [uuid.UUID(int=1)]),
    ("double precision[]", [1.5, float("inf")]), ("bytea[]", [b"\x00"]), ("timestamptz[]", [datetime.datetime(2024, 1, 1, tzinfo=UTC)]),
]


@check
async def parameters_of_all_types():
    async with connected() as c:
        for kind, value in VALUES:
            for v in (value, None):
                got = await c.fetchval(f"SELECT $1::{kind}", v)
                assert got == v, (kind, v, got)


@check
async def columns_of_all_types():
    async with connected() as c:
        columns = ", ".join(f"c{i} {kind}" for i, (kind, _) in enumerate(VALUES))
        await c.execute(f"CREATE OR REPLACE TABLE asyncpg_types ({columns})")
        row = tuple(v for _, v in VALUES)
        places = ", ".join(f"${i + 1}" for i in range(len(row)))
        await c.executemany(f"INSERT INTO asyncpg_types VALUES ({places})", [row] * 3 + [(None,) * len(row)])
        assert await c.copy_records_to_table("asyncpg_types", records=[row] * 2) == "COPY 2"
        rows = await c.fetch("SELECT * FROM asyncpg_types WHERE c1 = $1 AND c17 = $2", row[1], row[17])
        assert [tuple(r) for r in rows] == [row] * 5, rows
        for options in ({}, {"format": "csv", "header": True}, {"format": "binary"}):
            out = io.BytesIO()
            assert await c.copy_from_table("asyncpg_types", output=out, **options) == "COPY 6"
            out.seek(0)
            await c.execute("CREATE OR REPLACE TABLE asyncpg_again AS SELECT * FROM asyncpg_types LIMIT 0")
            assert await c.copy_to_table("asyncpg_again", source=out, **options) == "COPY 6"
            missing = await c.fetchval("SELECT count(*) FROM (FROM asyncpg_types EXCEPT ALL FROM asyncpg_again)")
            assert missing == 0, (options, missing)


@check
async def members_of_arrays():
    async with connected() as c:
        assert await c.fetchval("SELECT count(*) FROM nation WHERE n_nationkey = ANY($1)", [1, 2, 3]) == 3
        assert await c.fetchval("SELECT count(*) FROM nation WHERE n_name = ANY($1::text[])", ["FRANCE", "CHINA", None]) == 2
        assert await c.fetchval("SELECT array_agg(n_nationkey ORDER BY n_nationkey) FROM nation WHERE n_nationkey < 3") == [0, 1, 2]


@check
async def object_ids():
    async with connected() as c:
        st = await c.prepare("SELECT *, array_agg(oid) OVER () AS l FROM (SELECT oid FROM pg_type WHERE oid = ANY($1::oid[])) t")
        assert [t.name for t in st.get_parameters()] == ["oid[]"], st.get_parameters()
        assert [a.type.name for a in st.get_attributes()] == ["oid", "oid[]"], st.get_attributes()
        assert [tuple(r) for r in await st.fetch([23])] == [(23, [23])]


@check
async def pools():
    pool = await asyncpg.create_pool(**WHERE, min_size=1, max_size=1)
    async with pool.acquire() as c:
        await c.execute("SET statement_timeout = '7s'; SELECT set_config('lock_timeout', '5s', false)")
        assert await c.fetchval("SHOW lock_timeout") == "5s"
    async with pool.acquire() as c:  # the same connection, reset
        assert [await c.fetchval(f"SHOW {s}") for s in ("statement_timeout", "lock_timeout")] == ["0", "0"]
    await pool.close()


@check
async def transactions():
    async with connected() as c:
        await c.execute("CREATE OR REPLACE TABLE asyncpg_tx (i integer)")
        for isolation in ("serializable", "repeatable_read", "read_committed"):
            async with c.transaction(isolation=isolation):
                await c.execute("INSERT INTO asyncpg_tx VALUES (1)")
        try:
            async with c.transaction(readonly=True):
                await c.execute("INSERT INTO asyncpg_tx VALUES (1)")
            raise AssertionError("a read only transaction has written")
        except asyncpg.ReadOnlySQLTransactionError:
            pass
        async with c.transaction(isolation="serializable", readonly=True, deferrable=True):
            assert await c.fetchval("SELECT count(*) FROM asyncpg_tx") == 3
        async with c.transaction():
            try:
                async with c.transaction():
                    await c.execute("INSERT INTO asyncpg_tx VALUES (2)")
                    raise KeyError
            except KeyError:
                pass
        assert await c.fetchval("SELECT count(*) FROM asyncpg_tx") == 3


@check
async def serializable_conflicts():
    async with connected() as c, connected() as d:
        await c.execute("CREATE OR REPLACE TABLE asyncpg_skew (i integer); INSERT INTO asyncpg_skew VALUES (1)")
        transactions = [x.transaction(isolation="serializable") for x in (c, d)]
        for t, x in zip(transactions, (c, d)):
            await t.start()
            assert await x.fetchval("SELECT sum(i) FROM asyncpg_skew") == 1
        await c.execute("INSERT INTO asyncpg_skew VALUES (10)")
        await transactions[0].commit()

        async def second():
            await d.execute("INSERT INTO asyncpg_skew VALUES (20)")
            await transactions[1].commit()
        await fails("40001", second())


@check
async def settings():
    async with connected(server_settings={"default_transaction_read_only": "on", "statement_timeout": "7s", "TimeZone": "Europe/Berlin"}) as c:
        assert await c.fetchval("SHOW statement_timeout") == "7s"
        assert await c.fetchval("SELECT '2024-07-01 12:00:00+00'::timestamptz::text") == "2024-07-01 14:00:00+02"
        await fails("25006", c.execute("CREATE TABLE asyncpg_never (i integer)"))
    await fails("42704", asyncpg.connect(**WHERE, server_settings={"nonsense": "1"}))


@check
async def timeouts():
    async with connected() as c:
        try:
            await c.fetchval(LONG, timeout=0.3)
            raise AssertionError("no timeout")
        except asyncio.TimeoutError:
            pass
        assert await c.fetchval("SELECT 1") == 1
        await c.execute("SET statement_timeout = '300ms'")
        await fails("57014", c.fetchval(LONG))


@check
async def cursors():
    async with connected() as c:
        async with c.transaction():
            got = [r[0] async for r in c.cursor("SELECT i FROM range(1000) t(i) WHERE i >= $1 ORDER BY i", 10, prefetch=7)]
            assert got == list(range(10, 1000))
            cursor = await c.cursor("SELECT i FROM range(100) t(i) ORDER BY i")
            assert [r[0] for r in await cursor.fetch(5)] == [0, 1, 2, 3, 4] and (await cursor.fetchrow())[0] == 5


@check
async def plans_of_other_tables():
    async with connected() as c:
        await c.execute("CREATE OR REPLACE TABLE asyncpg_plan (i integer); INSERT INTO asyncpg_plan VALUES (1)")
        assert tuple(await c.fetchrow("SELECT * FROM asyncpg_plan")) == (1,)
        await c.execute("CREATE OR REPLACE TABLE asyncpg_plan (i text, j integer[]); INSERT INTO asyncpg_plan VALUES ('x', '{1,2}')")
        assert tuple(await c.fetchrow("SELECT * FROM asyncpg_plan")) == ("x", [1, 2])


async def main():
    print("checks\t" + " ".join(c.__name__ for c in CHECKS))
    for c in CHECKS:
        try:
            await asyncio.wait_for(c(), 60)
            print("ok\t" + c.__name__)
        except BaseException:
            print("fail\t" + c.__name__ + "\t" + traceback.format_exc(limit=-3).strip().replace("\n", " | "))


asyncio.run(main())
