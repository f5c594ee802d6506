package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/alteration"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/clone"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/comment"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/dependency"
	"github.com/csmsql/csmsql/engine/domain"
	"github.com/csmsql/csmsql/engine/former"
	"github.com/csmsql/csmsql/engine/index"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/reference"
	"github.com/csmsql/csmsql/engine/refresh"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/template"
	"github.com/csmsql/csmsql/engine/temporary"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// command is how statements without a plan of their own run.
func (st *Statement) command(head any) func(context.Context, []any) (*Rows, error) {
	s := st.session
	return func(ctx context.Context, args []any) (*Rows, error) {
		if len(args) > 0 {
			return nil, sqlerror.New("42P02", "this statement takes no parameters")
		}
		if tag, do := sequence.Command(head); do != nil {
			return done(tag, 0), s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error { return do(ctx, s.sequenceChanges(tx, v)) })
		}
		if tag, do := namedtype.Command(head); do != nil {
			return done(tag, 0), s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
				s.yield()
				return do(ctx, &namedtype.Changes{Tx: tx, View: v, Conn: s.conn, Notice: s.noticed})
			})
		}
		if tag, do := index.Command(head); do != nil {
			change := func(ctx context.Context, tx *catalog.Transaction, v *snapshot.View) error {
				return do(ctx, s.indexChanges(tx, v))
			}
			return done(tag, 0), st.writeRows(ctx, new(int64), change)
		}
		if change := former.Command(head, s.noticed); change != nil {
			return done("ALTER TABLE", 0), st.writeRows(ctx, new(int64), change)
		}
		if online, err := upkeep.OnlineOf(head); err != nil {
			return nil, err
		} else if online != nil {
			return st.alterOnline(ctx, online)
		}
		switch head := st.grounds.Functions.Kept(head).(type) {
		case error:
			return nil, head
		case *statement.CreateTable:
			return st.createTable(ctx, head)
		case *statement.Refresh:
			return st.refresh(ctx, head)
		case *statement.Comment:
			return done("COMMENT", 0), s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error { return comment.Put(tx, v, head) })
		case *statement.CreateSchema:
			return done("CREATE SCHEMA", 0), s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
				return definition.CreateSchema(tx, v, head, s.skipped)
			})
		case *statement.CreateView:
			return st.createView(ctx, head)
		case *statement.CreateFunction:
			return done(head.Tag(), 0), st.createFunction(ctx)
		case *statement.Drop:
			return st.drop(ctx, head)
		case *statement.Truncate:
			return st.truncate(ctx, head)
		case *statement.Rename:
			return st.rename(ctx, head)
		case *statement.AlterTable:
			return st.alterTable(ctx, head)
		case *statement.SetSchema:
			return st.setSchema(ctx, head)
		case interface{ Alter() *statement.AlterTable }: // of a constraint
			return st.alterTable(ctx, head.Alter())
		case *statement.Empty:
			return done("", 0), nil
		case *statement.DiscardTemporary:
			return done("DISCARD TEMP", 0), s.dropTemporary()
		case *statement.DiscardSequences:
			s.yield()
			s.sequences.Discard()
			return done("DISCARD SEQUENCES", 0), temporary.RefuseSequences(context.Background(), s.conn)
		case *statement.Listen:
			return done("LISTEN", 0), s.listen(ctx, head)
		case *statement.Unlisten:
			return done("UNLISTEN", 0), errors.Join(s.listening.Unlisten(head.Channel), s.listened())
		case *statement.SetConstraints:
			return s.setConstraints(ctx, head)
		case *statement.CloseCursor:
			return s.closeCursor(head)
		case *statement.NoOp:
			return st.doNothing(ctx, head)
		case *statement.Begin:
			return done("BEGIN", 0), s.begin(head.Modes)
		case *statement.SetModes:
			set := map[bool]func(statement.Modes) error{true: s.setCharacteristics, false: s.setTransaction}[head.Session]
			return done("SET", 0), set(head.Modes)
		case *statement.Commit:
			return s.endBlock(ctx, head.Chain, true)
		case *statement.Rollback:
			return s.endBlock(ctx, head.Chain, false)
		case *statement.Savepoint:
			return done("SAVEPOINT", 0), s.savepoint(head.Name)
		case *statement.Release:
			return done("RELEASE", 0), s.releaseSavepoint(head.Name)
		case *statement.RollbackTo:
			return done("ROLLBACK", 0), s.rollbackTo(head.Name)
		case *statement.Set:
			tag := "SET"
			if head.Reset {
				tag = "RESET"
			}
			return done(tag, 0), s.set(head)
		case *statement.Prepare:
			return st.prepareNamed(ctx, head)
		case *statement.Deallocate:
			tag, err := s.named.Deallocate(head.Name)
			return done(tag, 0), err
		case *statement.Discard:
			if s.block != nil && !s.block.implicit {
				return nil, sqlerror.New("25001", "DISCARD ALL cannot run inside a transaction block")
			}
			s.named.ForgetAll()
			s.sequences.Discard()
			err := errors.Join(s.listening.Unlisten(""), s.listened())
			return done("DISCARD ALL", 0), errors.Join(err, s.dropTemporary(), s.apply(s.settings.AtStart()))
		}
		return nil, sqlerror.New("0A000", "this statement is not supported")
	}
}

// endBlock is COMMIT or ROLLBACK, which with chain begin the next transaction with the modes of this one.
func (s *Session) endBlock(ctx context.Context, chain, commit bool) (*Rows, error) {
	verb, b := "ROLLBACK", s.block
	if commit {
		verb = "COMMIT"
	}
	open := b != nil && !b.implicit
	if chain && !open {
		return nil, sqlerror.New("25P01", "%s AND CHAIN can only be used in transaction blocks", verb)
	}
	if b != nil && b.failed {
		verb = "ROLLBACK"
	}
	if !open && !commit {
		s.notice(Notice{Severity: "WARNING", State: "25P01", Message: "there is no transaction in progress"})
	}
	if !commit {
		s.rollback()
	} else if err := s.commit(ctx); err != nil {
		return nil, err
	}
	if chain {
		return done(verb, 0), s.chain(b.modes)
	}
	return done(verb, 0), nil
}

func (st *Statement) createTable(ctx context.Context, head *statement.CreateTable) (*Rows, error) {
	s := st.session
	for _, warning := range definition.Roundings(head, st.postgres) {
		s.notice(Notice{Severity: "WARNING", State: "01000", Message: warning, Hint: "Write numeric(p, s)."})
	}
	if head.Temporary {
		return st.runPrivate(ctx, nil)
	}
	err := st.writeRows(ctx, new(int64), func(ctx context.Context, tx *catalog.Transaction, v *snapshot.View) error {
		switch {
		case head.Domain:
			return domain.Make(ctx, head, s.definitions(v), s.sequenceChanges(tx, v))
		case head.Clone != nil:
			return clone.Make(ctx, head, s.templates(v), s.sequenceChanges(tx, v))
		}
		name, exists, err := definition.Room(tx, v, head, s.skipped)
		if err != nil || exists {
			return err
		}
		schema, made, err := s.templates(v).Table(ctx, name, head, s.sequenceChanges(tx, v))
		if err == nil {
			err = cmp.Or(s.makeTable(ctx, tx, name, schema, head.With), made.Own(name))
		}
		return err
	})
	return done(head.Tag(), 0), err // perhaps of the second try: what its foreign keys refer to is changed by it
}

// templates are what LIKE names in a statement that sees v.
func (s *Session) templates(v *snapshot.View) *template.Reader {
	describe := func(ctx context.Context, query string) (*arrow.Schema, error) {
		plan, err := s.planQuery(ctx, dialect.SourceOf(query), v)
		if err != nil {
			return nil, err
		}
		return plan.schema, nil
	}
	return &template.Reader{Definitions: s.definitions(v), Describe: describe}
}

// makeTable makes a table without rows; with is the text of its WITH (…).
func (s *Session) makeTable(ctx context.Context, tx *catalog.Transaction, name catalog.TableName, schema *arrow.Schema, with string) error {
	options, err := s.engine.upkeep.Declared(with, schema)
	if err == nil {
		options.Retention, err = former.Parameters(with)
	}
	if err != nil {
		return err
	}
	tx.Reads(append(definition.Sequences(tx.Contents(), schema), namedtype.Uses(tx.Contents(), schema)...)...)
	_, err = tx.CreateTable(ctx, name, schema, options)
	return err
}

func (s *Session) sequenceChanges(tx *catalog.Transaction, v *snapshot.View) *sequence.Changes {
	return &sequence.Changes{
		Tx: tx, View: v, Counters: s.engine.catalog, Keeper: s.engine.sequences,
		Notice: s.skipped,
	}
}

// skipped sends the client a notice of why something was not done.
func (s *Session) skipped(state, message string) {
	s.notice(Notice{Severity: "NOTICE", State: state, Message: message})
}

func (s *Session) indexChanges(tx *catalog.Transaction, v *snapshot.View) *index.Changes {
	return &index.Changes{
		Tx: tx, View: v, InBlock: s.block != nil && !s.block.implicit, Notice: s.noticed,
		Whole: s.engine.keys.Whole, Order: s.engine.upkeep.Order,
	}
}

func (st *Statement) prepareCreateTableAs(ctx context.Context, head *statement.CreateTableAs) error {
	s := st.session
	if head.Temporary {
		return st.preparePrivate(ctx, &statement.Private{Verb: "create"})
	}
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	src := cast.Verbatim(head.Query)
	in := st.source(head.Query)
	if err := cmp.Or(dialect.RefuseCollations(head.Query, in.Tree), refresh.Refuse(st.parsed, 0)); err != nil {
		return err
	}
	plan, err := s.planQuery(ctx, in, v)
	if err != nil {
		return st.parsed.PreferSyntax(src.Relocate(err, st.parsed.Text))
	}
	st.setPlan(plan)
	if err := refresh.Refuse(st.parsed, len(plan.Params)); err != nil {
		return err
	}
	if _, err := st.asStored(ctx, head, in, v); err != nil {
		return err
	}
	st.run = func(ctx context.Context, args []any) (*Rows, error) { return st.createTableAs(ctx, head, src, args) }
	return nil
}

func (st *Statement) createTableAs(ctx context.Context, head *statement.CreateTableAs, src cast.Source, args []any) (*Rows, error) {
	s := st.session
	var count int64
	existed := false
	err := s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		name, err := v.Qualify(head.Name)
		if err != nil {
			return err
		}
		if err := st.replanFor(ctx, v); err != nil { // before the old table goes: the query may read it
			return err
		}
		existed, err = definition.MakeRoom(tx, v, name, head.IfNotExists, head.OrReplace, s.skipped)
		if err != nil || existed {
			return err
		}
		schema, err := st.asStored(ctx, head, st.source(head.Query), v)
		if err == nil {
			schema, err = namedtype.Stored(v.Contents, ingest.LogicalSchema(schema))
		}
		if err == nil {
			schema, err = columntype.Table(schema, head.Columns)
		}
		if err != nil {
			return err
		}
		if s.temporary || v.Collates() {
			asked := func(text string) ([]string, error) { return s.asked(ctx, v, text, args) }
			if err := definition.RefuseInherited(head.Query, schema, asked); err != nil {
				return err
			}
		}
		origins := typing.Origins(head.Query, st.source(head.Query).Tree, s.relations(v).Find)
		schema = definition.DeclaredAs(schema, origins)
		if schema, err = refresh.Declare(ctx, tx, s.viewTexts(v), head, schema); err == nil {
			schema, err = st.grounds.Functions.Keep(ctx, tx, s.viewTexts(v), schema)
		}
		if err != nil {
			return err
		}
		if err := s.makeTable(ctx, tx, name, schema, head.With); err != nil || head.NoData {
			return err
		}
		count, err = s.fill(ctx, tx, v, st.plan, name, head.Query, args)
		return src.Relocate(err, st.parsed.Text)
	})
	if err != nil {
		return nil, err
	}
	if existed || head.NoData {
		return done(configuration.Writes(head, nil), 0), nil
	}
	return done(fmt.Sprintf("SELECT %d", count), count), nil
}

// fill puts the rows of a planned query, whose text is given, into a table that has none.
func (s *Session) fill(ctx context.Context, tx *catalog.Transaction, v *snapshot.View, plan *query,
	into catalog.TableName, text string, args []any) (int64, error) {
	rows, err := plan.execute(ctx, v, args)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	sum := &ingest.Sum{Unknown: len(args) > 0}
	origin := func(int64) *lineage.Origin { return s.originOfQuery(plan, into, text, args, sum) }
	return s.engine.upkeep.Store(ctx, tx, into, s.settings.Zone(), rows.nextOwned, sum, origin)
}

// refresh is REFRESH MATERIALIZED VIEW.
func (st *Statement) refresh(ctx context.Context, head *statement.Refresh) (*Rows, error) {
	return done("REFRESH MATERIALIZED VIEW", 0), st.writeRows(ctx, new(int64), func(ctx context.Context,
		tx *catalog.Transaction, v *snapshot.View) error {
		return refresh.Run(ctx, tx, v, head, func(ctx context.Context, query string, into catalog.TableName,
			ready func(*arrow.Schema) error) error {
			if err := st.session.show(v); err != nil {
				return err
			}
			plan, err := st.session.planQuery(ctx, dialect.SourceOf(query), v)
			if err != nil {
				return err
			}
			defer plan.close()
			if err = ready(plan.schema); err == nil {
				_, err = st.session.fill(ctx, tx, v, plan, into, query, nil)
			}
			return err
		})
	})
}

func (st *Statement) truncate(ctx context.Context, head *statement.Truncate) (*Rows, error) {
	s := st.session
	err := s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		var names []catalog.TableName
		for _, n := range head.Names {
			version, err := v.Emptied(n)
			if err == snapshot.ErrTemporary && v.Own.Means(n) {
				if err = s.changeOwn("DELETE FROM", n.Name); err == nil {
					continue
				}
			}
			if err != nil {
				return st.parsed.PointAt(err, n.Name)
			}
			names = append(names, version.Table().Name)
		}
		names, err := reference.Truncated(v.Contents, names, head.Cascade, s.noticed)
		for _, name := range names {
			version, _ := v.Contents.Table(name)
			if err := tx.Truncate(name); err != nil {
				return err
			}
			if err := s.sequenceChanges(tx, v).Restart(ctx, head, version.Table().ID); err != nil {
				return err
			}
			if s.block != nil { // for COPY … FREEZE
				s.block.emptied = append(s.block.emptied, version.Table().ID)
			}
		}
		return err
	})
	return done("TRUNCATE TABLE", 0), err
}

// asStored are the columns of a table of the query's rows. An ENUM is an error: as text it would order in another way
// and take every word.
func (st *Statement) asStored(ctx context.Context, head *statement.CreateTableAs, in dialect.Source,
	v *snapshot.View) (*arrow.Schema, error) {
	q, s := st.plan, st.session
	if q.Duck == nil {
		return q.schema, nil
	}
	stored, err := q.Duck.Stored(true)
	if err != nil || columntype.Alike(stored) {
		return q.schema, err
	}
	// Scans show columns of text as ENUMs, too: DuckDB is asked again without.
	s.asDeclared = true
	q, err = s.planQuery(ctx, in, v)
	s.asDeclared = false
	if err != nil {
		return nil, err
	}
	defer q.close()
	origins := typing.Origins(head.Query, in.Tree, s.relations(v).Find)
	return columntype.Stored(q.schema, q.Duck.Stored, relation.Opaque(v.Contents, origins), head.Columns)
}

// drop is DROP; what goes with what is named says package dependency.
func (st *Statement) drop(ctx context.Context, head *statement.Drop) (*Rows, error) {
	s := st.session
	own, err := s.temporaryNames(ctx)
	switch {
	case err != nil:
		return nil, err
	case head.Object.IsUnlisted() && len(head.Names) == 1:
		if own, err = s.temporaryUnlisted(head.Object)(ctx); err != nil || !own.Means(head.Names[0]) {
			break
		}
		as, parsed := *st, *st.parsed
		as.parsed, parsed.Head = &parsed, temporary.DropOf(head, st.parsed.Text)
		return as.runPrivate(ctx, nil)
	case head.Object.MayBeOwn() && len(head.Names) == 1 && own.Means(head.Names[0]):
		return st.runPrivate(ctx, nil)
	}
	err = s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		return dependency.Command{
			Head: head, Views: s.viewTexts(v), Sequences: s.sequenceChanges(tx, v), Notice: s.noticed, Point: st.parsed.PointAt,
			Forget:        func(r []definition.Reference) error { return alteration.Forget(tx, r, s.noticed) },
			TemporaryView: s.dropTemporaryView,
		}.Run(ctx, tx)
	})
	return done("DROP "+strings.ToUpper(string(head.Object)), 0), err
}

// noticed sends the client a notice.
func (s *Session) noticed(message, detail string) {
	s.notice(Notice{Severity: "NOTICE", State: "00000", Message: message, Detail: detail})
}

func (s *Session) dropTemporaryView(name string) error { return s.changeOwn("DROP VIEW", name) }

// changeOwn changes what is the session's own. Preconditions: a block is open; DuckDB's transaction ends as it does.
func (s *Session) changeOwn(verb, name string) error {
	s.yield()
	if err := s.beginDuck(s.block); err != nil {
		return err
	}
	s.changedTemporary()
	return s.conn.Exec(verb + " " + snapshot.TemporarySchema + "." + duckdb.QuoteIdentifier(name))
}

// Statements that PostgreSQL needs and we hardly do: what they name must be there, and what they would change must not.

// doNothing is VACUUM, ANALYZE, CHECKPOINT and the like.
func (st *Statement) doNothing(ctx context.Context, head *statement.NoOp) (*Rows, error) {
	s := st.session
	if head.Tag == "VACUUM" && s.block != nil && !s.block.implicit {
		return nil, sqlerror.New("25001", "VACUUM cannot run inside a transaction block")
	}
	if len(head.Tables) == 0 && !head.Verbose && head.Tag != "VACUUM" {
		return done(head.Tag, 0), nil
	}
	v, err := s.see(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	list, err := upkeep.Maintained(v.Contents, head, func(name statement.Name) (*catalog.TableVersion, error) {
		version, err := v.Stored(name)
		if v.Own.Means(name) || err == snapshot.ErrTemporary {
			return nil, nil
		}
		return version, st.parsed.PointAt(err, name.Name)
	})
	if err != nil {
		return nil, err
	}
	for _, text := range upkeep.Reports(list, head) {
		s.notice(Notice{Severity: "INFO", State: "00000", Message: text})
	}
	return done(head.Tag, 0), s.engine.upkeep.Vacuum(ctx, head.Tag, list)
}

// setConstraints is SET CONSTRAINTS ALL: no constraint that is deferrable is checked yet, so that there is nothing to
// defer, and nothing that could be checked at once.
func (s *Session) setConstraints(ctx context.Context, head *statement.SetConstraints) (*Rows, error) {
	if s.block == nil || s.block.implicit {
		s.notice(Notice{Severity: "WARNING", State: "25P01", Message: "SET CONSTRAINTS can only be used in transaction blocks"})
		return done("SET CONSTRAINTS", 0), nil
	}
	v, err := s.see(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	if err := definition.RefuseDeferring(v.Contents, head.Deferred); err != nil {
		return nil, err
	}
	return done("SET CONSTRAINTS", 0), nil
}

// mayFreeze holds COPY … FREEZE to PostgreSQL's rule: it is for a table that no other session can see.
func (s *Session) mayFreeze(tx *catalog.Transaction, head *statement.Copy, table catalog.Table) error {
	if !head.Freeze() || slices.Contains(tx.Redefined(), table.Name) ||
		s.block != nil && slices.Contains(s.block.emptied, table.ID) {
		return nil
	}
	return sqlerror.New("55000", "cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction").
		WithHint("Leave FREEZE out, or TRUNCATE the table in the same transaction.")
}
