package follow

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Session is one in which versions are read. It is for one goroutine, except Close.
type Session interface {
	// Query runs a statement.
	Query(ctx context.Context, sql string, args ...any) (array.RecordReader, error)
	// See is what a statement would see now.
	See(ctx context.Context) (*snapshot.View, error)
	// Transaction is its state as the protocol shows it: I, T or E.
	Transaction() byte
	Close() error
}

// Source is where followers hear of tables: a Hub or a Remote.
type Source interface {
	// Await returns as soon as one of the tables is not the version any more that its caller has seen last, with those
	// that are not; or with the error of the context. It is how another process follows tables.
	Await(ctx context.Context, seen map[catalog.TableID]uint64) ([]catalog.TableID, error)
	// Close ends all that wait for a reason, and joins the loop (FW4). It comes once.
	Close(why error)
	// watch begins before the follower looks, and hears what it saw then.
	watch(id catalog.TableID, tell Tell) (saw func(*catalog.TableVersion), stop func(), err error)
	// name watches what a name means.
	name(name catalog.TableName, tell Tell) (stop func(), err error)
	// Watched reports whether anything is watched in this process, or about to be.
	Watched() bool
	// look notifies all watches of what was committed before the call.
	look() (moved <-chan struct{}, ended error)
}

// Version is one version of a table, in a turn of the loop over Versions. It is for the loop's goroutine.
type Version struct {
	table   catalog.TableName
	number  uint64
	session Session
	over    bool
}

// Number is the version's, as in csm.versions and AT (VERSION => n). Numbers of a table grow; some are never seen.
func (v *Version) Number() uint64 { return v.number }

// Table is what the table is called in this version: a name for SQL, with its schema, in quotes.
func (v *Version) Table() string { return lex.Quote(v.table.Schema) + "." + lex.Quote(v.table.Name) }

// Query runs one statement, which sees the table in exactly this version, and everything else as it was then. It is as
// Session.Query in the transaction that holds the version, which is REPEATABLE READ READ ONLY: statements that write
// are 25006. One that fails is no reason to ask no other. Errors: 55000 if the version's turn is over, or its transaction
// was ended.
func (v *Version) Query(ctx context.Context, sql string, args ...any) (array.RecordReader, error) {
	state := v.session.Transaction()
	if v.over || state == transactionNone {
		return nil, v.letGo(ctx)
	}
	if state == transactionFailed {
		if err := run(ctx, v.session, backToMark); err != nil {
			return nil, err
		}
	}
	return v.session.Query(ctx, sql, args...)
}

// letGo is why the version is not held any more.
func (v *Version) letGo(ctx context.Context) error {
	if now, err := v.session.See(ctx); err != nil {
		return err // the engine is closed
	} else {
		now.Release()
	}
	return sqlerror.New("55000", "version %d of table %s is not held any more", v.number, v.Table()).
		WithHint("It may be asked until the loop's next turn, unless COMMIT or ROLLBACK end its transaction.")
}

// A version is held by a transaction. A statement that fails is taken back to its beginning.
const (
	transactionNone, transactionFailed = 'I', 'E'

	begin      = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	mark       = "SAVEPOINT version"
	backToMark = "ROLLBACK TO SAVEPOINT version"
	letGo      = "ROLLBACK"
)

func run(ctx context.Context, s Session, sql string) error {
	reader, err := s.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer reader.Release()
	for reader.Next() { // it has no rows
	}
	return reader.Err()
}

var errTooMany = sqlerror.New("54000", "a process that is attached to a node follows %d tables at most", TablesMost)

// Versions are those of a table from now on, beginning with the present one, each as soon as it is committed, on
// whichever node:
//
//	for v, err := range e.Follow(ctx, "orders") {
//		if err != nil {
//			return err
//		}
//		rows, err := v.Query(ctx, "SELECT sum(amount) FROM orders")
//		…
//	}
//
// The version stays in place during its turn of the loop, and what v.Query asks sees exactly it. Commits never wait for
// a follower: one that is slower than they are gets the newest version next (FW2). A version is given if rows, columns
// or the name are others, not if chunks only moved. The table, whose name is as in SQL, or a materialized view, is
// followed under whatever name it gets. An engine that is attached to a node follows TablesMost tables at most.
//
// The loop ends with an error: ctx's; 42P01 when the table is not there or was dropped; 42809 for a view, 0A000 for a
// temporary table; 57P01 or 57P03 when the engine is closed; others that snapshots have.
func Versions(ctx context.Context, table string, from Source, open func() (Session, error)) iter.Seq2[*Version, error] {
	return func(yield func(*Version, error) bool) {
		f := follower{from: from, yield: func(v *Version) bool { return yield(v, nil) }, news: make(chan error, 1)}
		if err := f.run(ctx, table, open); err != nil {
			yield(nil, err)
		}
	}
}

// follower is one loop over Versions.
type follower struct {
	from    Source
	session Session
	yield   func(*Version) bool
	news    chan error // nil: look
	last    *catalog.TableVersion
	name    catalog.TableName
}

// run returns nil if the loop has no more turns because it wants none.
func (f *follower) run(ctx context.Context, table string, open func() (Session, error)) (err error) {
	name, err := statement.ParseName(table)
	if err != nil {
		return err
	}
	if f.session, err = open(); err != nil {
		return err
	}
	defer f.session.Close()
	id, err := f.find(ctx, name)
	if err != nil {
		return err
	}
	saw, stop, err := f.from.watch(id, func(_ *catalog.TableVersion, err error) { place(f.news, err) })
	if err != nil {
		return err
	}
	defer stop()
	for {
		now, err := f.pin(ctx, id)
		if err != nil {
			return err
		}
		if (f.last == nil || news(f.last, now)) && !f.turn(now) {
			return nil
		}
		f.last, f.name = now, now.Table().Name
		if err := run(ctx, f.session, letGo); err != nil { // nothing is held while it waits (FW3)
			return err
		}
		saw(now)
		if err := f.wait(ctx); err != nil {
			return err
		}
	}
}

// turn is one of the loop.
func (f *follower) turn(now *catalog.TableVersion) (more bool) {
	v := &Version{table: now.Table().Name, number: now.Version(), session: f.session}
	defer func() { v.over = true }()
	return f.yield(v)
}

func (f *follower) wait(ctx context.Context) error {
	select {
	case err := <-f.news:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// find finds the table that a name means.
func (f *follower) find(ctx context.Context, name statement.Name) (catalog.TableID, error) {
	v, err := f.session.See(ctx)
	if err != nil {
		return 0, err
	}
	defer v.Release()
	version, err := Table(v, name)
	if err != nil {
		return 0, err
	}
	f.name = version.Table().Name
	return version.Table().ID, nil
}

// pin pins the newest version of the table.
func (f *follower) pin(ctx context.Context, id catalog.TableID) (*catalog.TableVersion, error) {
	if err := run(ctx, f.session, begin); err != nil {
		return nil, err
	}
	v, err := f.session.See(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	now, ok := v.Contents.TableOf(id, f.name)
	if !ok {
		return nil, sqlerror.New("42P01", "table %q, which is followed, was dropped", f.name.String())
	}
	return now, run(ctx, f.session, mark)
}

// Table is the table that can be followed under a name: a materialized view is one, a view is none, nor is what is only
// one session's.
func Table(v *snapshot.View, name statement.Name) (*catalog.TableVersion, error) {
	version, err := v.Stored(name)
	if err == nil {
		return version, nil
	}
	if err == snapshot.ErrTemporary {
		return nil, sqlerror.New("0A000", "temporary table %q cannot be followed: it has no versions", name.Name)
	}
	if sqlerror.State(err) == "42809" {
		return nil, sqlerror.New("42809", "view %q cannot be followed: it has no versions", name.String()).
			WithHint("Follow the tables that it reads.")
	}
	return nil, err
}
