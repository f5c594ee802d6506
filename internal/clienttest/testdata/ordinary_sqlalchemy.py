"""What programs do with SQLAlchemy over psycopg2. ../doc.go says what is printed."""
import datetime
import decimal
import sys
import traceback
import uuid

from sqlalchemy import (BigInteger, Boolean, Column, Date, DateTime, Identity, Integer, Interval, LargeBinary, MetaData, Numeric, Sequence, String, Table,
                        Text, cast, create_engine, extract, func, inspect, select, text)
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, declarative_base

URL = sys.argv[1]
CHECKS = []


def check(f):
    CHECKS.append(f)
    return f


def state(e):
    return e.orig.pgcode


META = MetaData()
TABLE = Table(
    "alchemy", META, Column("i", BigInteger, primary_key=True, autoincrement=False), Column("n", Numeric(10, 2)), Column("t", String(20), nullable=False),
    Column("x", Text), Column("b", Boolean), Column("d", Date), Column("ts", DateTime(timezone=True)), Column("j", postgresql.JSON),
    Column("u", postgresql.UUID(as_uuid=True)), Column("a", postgresql.ARRAY(Integer)), Column("y", LargeBinary), Column("iv", Interval))
ROW = {
    "i": 1, "n": decimal.Decimal("1.25"), "t": "t", "x": None, "b": True, "d": datetime.date(2024, 1, 1),
    "ts": datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc), "j": {"a": [1]}, "u": uuid.UUID(int=7), "a": [1, 2], "y": b"\0\xff",
    "iv": datetime.timedelta(hours=5)}


@check
def tables():
    e = create_engine(URL)
    META.drop_all(e)
    META.create_all(e)
    with e.begin() as c:
        c.execute(TABLE.insert(), ROW)
        c.execute(TABLE.insert(), [dict(ROW, i=i) for i in range(2, 20)])
        assert dict(c.execute(TABLE.select().where(TABLE.c.i == 1)).mappings().one()) == ROW
        changed = c.execute(TABLE.update().where(TABLE.c.i > 17).values(t="z").returning(TABLE.c.i)).scalars().all()
        assert sorted(changed) == [18, 19], changed
        assert c.execute(TABLE.delete().where(TABLE.c.i == 19)).rowcount == 1
        asked = select(func.count(), func.sum(TABLE.c.n), func.max(cast(TABLE.c.i, String))).where(TABLE.c.a.any(1))
        assert tuple(c.execute(asked).one()) == (18, decimal.Decimal("22.50"), "9")
        assert c.execute(select(extract("year", TABLE.c.d)).limit(1)).scalar() == 2024
    with e.connect() as c:
        assert c.execute(postgresql.insert(TABLE).values(ROW).on_conflict_do_nothing()).rowcount == 0


@check
def reflection():
    i = inspect(create_engine(URL))
    types = {c["name"]: type(c["type"]).__name__ for c in i.get_columns("alchemy")}
    assert types == {"i": "BIGINT", "n": "NUMERIC", "t": "VARCHAR", "x": "TEXT", "b": "BOOLEAN", "d": "DATE", "ts": "TIMESTAMP", "j": "JSON", "u": "UUID",
                     "a": "ARRAY", "y": "BYTEA", "iv": "INTERVAL"}, types
    assert i.get_pk_constraint("alchemy")["constrained_columns"] == ["i"]
    assert not [c["name"] for c in i.get_columns("alchemy") if c["nullable"] != (c["name"] not in ("i", "t"))]


@check
def isolation():
    for level in ("SERIALIZABLE", "REPEATABLE READ"):
        with create_engine(URL, isolation_level=level).connect() as c:
            assert c.get_isolation_level() == level
    c = create_engine(URL).connect().execution_options(postgresql_readonly=True, postgresql_deferrable=True, isolation_level="SERIALIZABLE")
    try:
        c.execute(text("CREATE TABLE alchemy_never (i integer)"))
        raise AssertionError("a read only transaction has written")
    except DBAPIError as refused:
        assert state(refused) == "25006", refused


@check
def streaming():
    with create_engine(URL).connect() as c:
        rows = c.execution_options(stream_results=True, max_row_buffer=10).execute(text("SELECT i FROM range(1000) t(i)"))
        assert sum(r[0] for r in rows) == 499500


@check
def objects():
    base = declarative_base()

    class User(base):
        __tablename__ = "alchemy_users"
        id = Column(Integer, primary_key=True, autoincrement=False)
        name = Column(String)

    e = create_engine(URL)
    base.metadata.drop_all(e)
    base.metadata.create_all(e)
    with Session(e) as s:
        s.add_all([User(id=i, name=f"n{i}") for i in range(5)])
        s.commit()
        u = s.get(User, 3)
        u.name = "x"
        s.commit()
        s.delete(u)
        s.commit()
        assert s.query(User).filter(User.name.like("n%")).order_by(User.id.desc()).limit(1).offset(1).one().id == 2
        with s.begin_nested():
            s.add(User(id=99))
        s.rollback()
        assert (s.query(User).count(), s.query(func.max(User.id)).scalar()) == (4, 4)


@check
def serial():
    """Keys that the server makes."""
    base = declarative_base()

    class Author(base):
        __tablename__ = "alchemy_authors"
        id = Column(Integer, primary_key=True)
        name = Column(String)

    class Book(base):
        __tablename__ = "alchemy_books"
        id = Column(BigInteger, Identity(always=True, start=100), primary_key=True)
        number = Column(Integer, Sequence("alchemy_numbers", start=7))
        name = Column(String)

    e = create_engine(URL)
    base.metadata.drop_all(e)
    base.metadata.create_all(e)
    with Session(e) as s:
        authors = [Author(name=f"n{i}") for i in range(5)]
        s.add_all(authors)
        s.flush()
        assert [a.id for a in authors] == [1, 2, 3, 4, 5], [a.id for a in authors]
        books = [Book(name=f"b{i}") for i in range(3)]
        s.add_all(books)
        s.commit()
        assert [(b.id, b.number) for b in books] == [(100, 7), (101, 8), (102, 9)], [(b.id, b.number) for b in books]
        assert s.query(Author).filter(Author.id == 4).one().name == "n3"
    with e.begin() as c:
        assert c.execute(Author.__table__.insert().values(name="x")).inserted_primary_key[0] == 6
        assert c.execute(Sequence("alchemy_numbers").next_value().select()).scalar() == 10
        try:
            c.execute(Book.__table__.insert().values(id=1))
            raise AssertionError("a GENERATED ALWAYS column was given a value")
        except DBAPIError as refused:
            assert state(refused) == "428C9", refused
    i = inspect(e)
    assert set(i.get_sequence_names()) >= {"alchemy_numbers", "alchemy_authors_id_seq"}, i.get_sequence_names()
    author = {c["name"]: c for c in i.get_columns("alchemy_authors")}
    assert author["id"]["autoincrement"] is True and "nextval" in author["id"]["default"], author["id"]
    book = {c["name"]: c for c in i.get_columns("alchemy_books")}
    assert book["id"]["identity"]["always"] is True and book["id"]["identity"]["start"] == 100, book["id"]
    again = MetaData()
    again.reflect(e, only=["alchemy_books"])
    assert again.tables["alchemy_books"].c.id.identity is not None


def main():
    print("checks\t" + " ".join(f.__name__ for f in CHECKS), flush=True)
    for f in CHECKS:
        try:
            f()
            print(f"ok\t{f.__name__}", flush=True)
        except BaseException:
            print(f"fail\t{f.__name__}\t" + traceback.format_exc().strip().replace("\n", " | "), flush=True)


main()
