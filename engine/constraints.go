package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/alteration"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/dependency"
	"github.com/csmsql/csmsql/engine/domain"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// ALTER TABLE about columns and constraints (package alteration).

// definitions reads those of a statement that sees v.
func (s *Session) definitions(v *snapshot.View) *definition.Reader {
	s.yield()
	return &definition.Reader{Conn: s.conn, Checks: s.engine.checks, View: v}
}

// alterations alters tables in a transaction whose contents v shows.
func (s *Session) alterations(tx *catalog.Transaction, v *snapshot.View) alteration.Host {
	return alteration.Host{
		Sequences: s.sequenceChanges(tx, v), Definitions: s.definitions, Views: s.viewTexts,
		Whole: s.engine.keys.Whole, Order: s.engine.upkeep.Order,
		Seeing: func(contents *catalog.Contents) *snapshot.View { return s.seeing(contents, v.Lease.Hold(), v.Own) },
		Plan:   s.putsOut,
		Each: func(ctx context.Context, v *snapshot.View, text string, each func(arrow.RecordBatch) error) error {
			return s.each(ctx, v, text, nil, each)
		},
		Write: func(ctx context.Context, v *snapshot.View, text string, to catalog.TableName) error {
			return s.withRows(ctx, v, text, nil, func(rows *Rows) error {
				_, err := s.engine.upkeep.Store(ctx, tx, to, s.settings.Zone(), rows.nextOwned, nil, nil)
				return err
			})
		},
		Drop:   func(list []dependency.Object) error { return dependency.Apply(tx, list, s.dropTemporaryView) },
		Notice: s.noticed,
	}
}

// each gives what a query in v does, batch by batch.
func (s *Session) each(ctx context.Context, v *snapshot.View, text string, args []any,
	each func(arrow.RecordBatch) error) error {
	return s.withRows(ctx, v, text, args, func(rows *Rows) error {
		for {
			batch, err := rows.Next(ctx)
			if isEnd(err) {
				return nil
			}
			if err == nil {
				err = each(batch)
				batch.Release()
			}
			if err != nil {
				return err
			}
		}
	})
}

// asked is the column of text that a question of the engine's own gives, which has few rows.
func (s *Session) asked(ctx context.Context, v *snapshot.View, text string, args []any) (values []string, err error) {
	err = s.each(ctx, v, text, args, func(batch arrow.RecordBatch) error {
		for i := range int(batch.NumRows()) {
			values = append(values, strings.Clone(batch.Column(0).ValueStr(i))) // it lies in the batch
		}
		return nil
	})
	return values, err
}

// withRows runs a query in v that is no user's text.
func (s *Session) withRows(ctx context.Context, v *snapshot.View, text string, args []any, use func(*Rows) error) error {
	q, err := s.planDuck(ctx, dialect.SourceOf(text), v)
	if err != nil {
		return dialect.WithoutPosition(err)
	}
	defer q.close()
	rows, err := q.execute(ctx, v, args)
	if err != nil {
		return dialect.WithoutPosition(err)
	}
	defer rows.Close()
	return dialect.WithoutPosition(use(rows))
}

// alter is ALTER TABLE about columns. It is repeated if another transaction has written to the table meanwhile.
func (st *Statement) alter(ctx context.Context, object statement.Object, name statement.Name, ifExists bool,
	change func(context.Context, *catalog.Transaction, *snapshot.View, *catalog.TableVersion) error) (*Rows, error) {
	s, rows := st.session, int64(0)
	err := st.writeRows(ctx, &rows, func(ctx context.Context, tx *catalog.Transaction, v *snapshot.View) error {
		version, err := v.Altered(object, name)
		if ifExists && sqlerror.State(err) == "42P01" {
			s.noticed(fmt.Sprintf("relation %q does not exist, skipping", name.String()), "")
			return nil
		}
		if err == snapshot.ErrTemporary {
			return sqlerror.New("0A000", "a temporary table cannot be altered").
				WithHint("Create it again: CREATE TEMP TABLE … AS SELECT …")
		}
		if err != nil {
			return st.parsed.PointAt(err, name.Name)
		}
		return change(ctx, tx, v, version)
	})
	if err != nil {
		return nil, err
	}
	return done("ALTER "+strings.ToUpper(cmp.Or(string(object), "TABLE")), 0), nil
}

// alterTable is ALTER TABLE with actions.
func (st *Statement) alterTable(ctx context.Context, head *statement.AlterTable) (*Rows, error) {
	if head.Object == statement.Domain {
		change := func(ctx context.Context, tx *catalog.Transaction, v *snapshot.View) error {
			return domain.Alter(ctx, st.session.alterations(tx, v), tx, v, head)
		}
		return done("ALTER DOMAIN", 0), st.writeRows(ctx, new(int64), change)
	}
	return st.alter(ctx, head.Object, head.Name, head.IfExists, func(ctx context.Context, tx *catalog.Transaction,
		v *snapshot.View, version *catalog.TableVersion) error {
		return alteration.Alter(ctx, st.session.alterations(tx, v), tx, v, version, head)
	})
}

// setSchema is ALTER TABLE … SET SCHEMA.
func (st *Statement) setSchema(ctx context.Context, head *statement.SetSchema) (*Rows, error) {
	return st.alter(ctx, head.Object, head.Name, head.IfExists, func(ctx context.Context, tx *catalog.Transaction,
		v *snapshot.View, version *catalog.TableVersion) error {
		return alteration.SetSchema(st.session.alterations(tx, v), tx, v, version.Table(), head.Schema,
			func(from, to catalog.TableName) error { return st.session.followName(ctx, tx, v, from, to) })
	})
}
