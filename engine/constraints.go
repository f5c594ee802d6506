package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Constraints of ALTER TABLE (package definition), and what rows that are there say to them.

// definitions reads those of a statement that sees v.
func (s *Session) definitions(v *snapshot.View) *definition.Reader {
	s.yield()
	return &definition.Reader{Conn: s.conn, Checks: s.engine.checks, View: v}
}

// warnOfKeys says which constraints are on record only.
func (s *Session) warnOfKeys(written []statement.Constraint) {
	for _, w := range written {
		if message, hint := definition.Unenforced(w); message != "" {
			s.notice(Notice{Severity: "WARNING", State: "0A000", Message: message, Hint: hint})
		}
	}
}

// addConstraint is ALTER TABLE … ADD. Rows that are there are held to a check, to a key, and to the NOT NULL of a
// primary key.
func (st *Statement) addConstraint(ctx context.Context, head *statement.AddConstraint) (*Rows, error) {
	s := st.session
	missing := false
	err := s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		version, err := v.Target(head.Name)
		if missing = head.IfExists && isState(err, "42P01"); missing {
			return nil
		}
		if err == snapshot.ErrTemporary {
			return sqlerror.New("0A000", "constraints of a temporary table cannot be added").WithHint("Write them into its CREATE TEMP TABLE.")
		}
		if err != nil {
			return st.parsed.PointAt(err, head.Name.Name)
		}
		table := version.Table()
		schema, err := s.definitions(v).Constrained(table.Name, table.Columns, head.Constraints)
		if err != nil {
			return err
		}
		if err := s.holds(ctx, v, table, schema); err != nil {
			return err
		}
		declared := table
		declared.Columns = schema
		if err := s.engine.keys.Whole(ctx, version, declared, table); err != nil {
			return err
		}
		return tx.Redeclare(table.Name, schema)
	})
	if err != nil {
		return nil, err
	}
	if missing {
		s.notice(Notice{Severity: "NOTICE", State: "00000", Message: fmt.Sprintf("relation %q does not exist, skipping", head.Name.String())})
		return done("ALTER TABLE", 0), nil
	}
	s.warnOfKeys(head.Constraints)
	return done("ALTER TABLE", 0), nil
}

func isState(err error, state string) bool {
	e, ok := err.(*Error)
	return ok && e.State == state
}

// holds is an error if rows of a table are not what a schema with further constraints says.
func (s *Session) holds(ctx context.Context, v *snapshot.View, table catalog.Table, schema *arrow.Schema) error {
	promises, err := definition.Promises(table, schema)
	if err != nil {
		return err
	}
	for _, p := range promises {
		found, err := s.finds(ctx, v, table.Name, p.Alias, p.Broken)
		if err != nil {
			return err
		}
		if found {
			return p.Err
		}
	}
	return nil
}

// finds tells whether a table has a row of which a condition is true. alias is what the condition calls the table.
func (s *Session) finds(ctx context.Context, v *snapshot.View, table catalog.TableName, alias, condition string) (bool, error) {
	found, err := s.asked(ctx, v, "SELECT 1 AS found FROM "+duckdb.QuoteIdentifier(table.Schema)+"."+
		duckdb.QuoteIdentifier(table.Name)+" AS "+duckdb.QuoteIdentifier(alias)+" WHERE "+condition+" LIMIT 1", nil)
	return len(found) > 0, err
}

// asked is the column of text that a question of the engine's own gives, which has few rows.
func (s *Session) asked(ctx context.Context, v *snapshot.View, text string, args []any) (values []string, err error) {
	q, err := s.planDuck(ctx, dialect.SourceOf(text), v)
	if err != nil {
		return nil, dialect.WithoutPosition(err)
	}
	defer q.close()
	rows, err := q.execute(ctx, v, args)
	if err != nil {
		return nil, dialect.WithoutPosition(err)
	}
	defer rows.Close()
	for {
		batch, err := rows.Next(ctx)
		if isEnd(err) {
			return values, nil
		}
		if err != nil {
			return nil, dialect.WithoutPosition(err)
		}
		for i := range int(batch.NumRows()) {
			values = append(values, strings.Clone(batch.Column(0).ValueStr(i))) // it lies in the batch
		}
		batch.Release()
	}
}

// dropConstraint is ALTER TABLE … DROP CONSTRAINT.
func (st *Statement) dropConstraint(ctx context.Context, head *statement.DropConstraint) (*Rows, error) {
	s := st.session
	var skipped string
	err := s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		version, err := v.Target(head.Name)
		if head.IfExists && isState(err, "42P01") {
			skipped = fmt.Sprintf("relation %q does not exist, skipping", head.Name.String())
			return nil
		}
		if err != nil {
			return st.parsed.PointAt(err, head.Name.Name)
		}
		table := version.Table()
		list, err := constraint.Of(table.Columns)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(list, func(k constraint.Constraint) bool { return k.Name == head.Constraint })
		if at < 0 && head.Missing {
			skipped = fmt.Sprintf("constraint %q of relation %q does not exist, skipping", head.Constraint, table.Name.Name)
			return nil
		}
		if at < 0 {
			return sqlerror.New("42704", "constraint %q of relation %q does not exist", head.Constraint, table.Name.Name)
		}
		schema, err := constraint.Mark(table.Columns, slices.Delete(list, at, at+1)) // NOT NULL stays, as in PostgreSQL
		if err != nil {
			return err
		}
		return tx.Redeclare(table.Name, schema)
	})
	if err == nil && skipped != "" {
		s.notice(Notice{Severity: "NOTICE", State: "00000", Message: skipped})
	}
	return done("ALTER TABLE", 0), err
}

// forgetReferences takes foreign keys off the record.
func (s *Session) forgetReferences(tx *catalog.Transaction, list []definition.Reference) error {
	for _, r := range list {
		version, ok := tx.Contents().Table(r.From)
		if !ok {
			continue
		}
		constraints, err := constraint.Of(version.Table().Columns)
		if err != nil {
			return err
		}
		constraints = slices.DeleteFunc(constraints, func(k constraint.Constraint) bool { return k.Name == r.Constraint })
		schema, err := constraint.Mark(version.Table().Columns, constraints)
		if err != nil {
			return err
		}
		if err := tx.Redeclare(r.From, schema); err != nil {
			return err
		}
		s.notice(Notice{Severity: "NOTICE", State: "00000", Message: "drop cascades to " + r.String()})
	}
	return nil
}
