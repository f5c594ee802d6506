package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/check"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// prepareRewrite checks the statement; temporary tables are DuckDB's to change.
func (st *Statement) prepareRewrite(ctx context.Context, r rewrite.Rewrite) error {
	s := st.session
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	version, err := v.Target(r.Name)
	if err == snapshot.ErrTemporary {
		return st.preparePrivate(ctx, &statement.Private{Verb: "update"})
	}
	if err != nil {
		return st.pointAt(err, r.Name.Name)
	}
	text, err := r.Query(version)
	if err == nil {
		err = s.rowwiseChange(ctx, v, st.parsed.Head, version)
	}
	if err != nil {
		return st.pointAt(err, r.Name.Name)
	}
	if list := rewrite.ReturningOf(st.parsed.Head); list != nil {
		if err := st.describeReturning(ctx, list, version, v); err != nil {
			return err
		}
	}
	plan, err := s.planDuck(ctx, dialect.SourceOf(text), v)
	if err != nil {
		return dialect.WithoutPosition(err)
	}
	st.params = plan.Params
	plan.close()
	st.run = func(ctx context.Context, args []any) (*Rows, error) { return st.runRewrite(ctx, r, args) }
	return nil
}

func (st *Statement) runRewrite(ctx context.Context, r rewrite.Rewrite, args []any) (*Rows, error) {
	s := st.session
	var hit int64
	out := s.keeper()
	err := s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		version, err := v.Target(r.Name)
		if err != nil {
			return err
		}
		if st.returning == nil {
			hit, err = s.replaceRows(ctx, tx, v, version, r, args, nil)
			return err
		}
		hits := s.keeper()
		defer hits.Release()
		if hit, err = s.replaceRows(ctx, tx, v, version, r, args, hits); err != nil {
			return err
		}
		kept, err := st.returned(ctx, v, hits, version.Table().Columns)
		if err == nil {
			out = kept
		}
		return err
	})
	if err != nil {
		out.Release()
		return nil, err
	}
	if st.returning != nil {
		return keptRows(out, st.schema, fmt.Sprintf(r.Tag, hit), hit), nil
	}
	return done(fmt.Sprintf(r.Tag, hit), hit), nil
}

// replaceRows makes the rows of a rewrite the table's, unless it hits none. hits, if not nil, keeps the batches with
// rows that were hit.
func (s *Session) replaceRows(ctx context.Context, tx *catalog.Transaction, v *snapshot.View, version *catalog.TableVersion, r rewrite.Rewrite, args []any, hits *retained.Batches) (hit int64, err error) {
	table := version.Table()
	text, err := r.Text(version)
	if err != nil {
		return 0, err
	}
	plan, err := s.planDuck(ctx, dialect.SourceOf(text), v)
	if err != nil {
		return 0, dialect.WithoutPosition(err)
	}
	defer plan.close()
	rows, err := plan.execute(ctx, v, args)
	if err != nil {
		return 0, dialect.WithoutPosition(err)
	}
	defer rows.Close()
	target, err := s.engine.upkeep.TargetFor(ctx, version, s.settings.Zone())
	if err != nil {
		return 0, err
	}
	target.Check = nil // what stays as it was is not new
	changed := &check.Changed{}
	defer changed.Release()
	if r.Flagged && !r.Removes {
		if changed.Checks, err = s.engine.checks.Of(table, s.settings.Zone()); err != nil {
			return 0, err
		}
	}
	var keep func(arrow.RecordBatch) error
	if hits != nil {
		keep = hits.Keep
	}
	w := ingest.NewWriter(target)
	defer w.Abort()
	for {
		batch, err := rows.Next(ctx)
		if isEnd(err) {
			break
		}
		if err != nil {
			return 0, dialect.WithoutPosition(err)
		}
		fit, err := ingest.Fit(ctx, batch, target.Limits) // before RETURNING sees it
		batch.Release()
		if err != nil {
			return 0, err
		}
		n, err := r.Add(ctx, w, fit, keep, changed)
		fit.Release()
		if err != nil {
			return 0, err
		}
		hit += n
	}
	if err := changed.Flush(ctx); err != nil {
		return 0, err
	}
	if !r.Flagged {
		hit = version.Rows() - w.Rows()
	}
	if hit == 0 {
		return 0, nil
	}
	chunks, err := w.Finish(ctx)
	if err != nil {
		return 0, err
	}
	s.engine.config.Fault.At(faults.RewriteSealed)
	return hit, tx.Replace(table.Name, chunks)
}

// rename gives a table another name.
func (st *Statement) rename(ctx context.Context, head *statement.Rename) (*Rows, error) {
	s := st.session
	if head.Object != statement.Table {
		return nil, sqlerror.New("0A000", "ALTER %s … RENAME is not supported", strings.ToUpper(string(head.Object)))
	}
	err := s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		version, err := v.Target(head.Name)
		if e, ok := err.(*Error); ok && e.State == "42P01" && head.IfExists {
			s.notice(Notice{Severity: "NOTICE", State: "00000", Message: fmt.Sprintf("relation %q does not exist, skipping", head.Name.String())})
			return nil
		}
		if err != nil {
			return st.pointAt(err, head.Name.Name)
		}
		from := version.Table().Name
		to := catalog.TableName{Schema: from.Schema, Name: head.To}
		if err := tx.RenameTable(from, to); err != nil {
			return err
		}
		return s.followName(ctx, tx, v, from, to)
	})
	if err != nil {
		return nil, err
	}
	return done("ALTER TABLE", 0), nil
}

// rowwise is an error if what is said of single rows is not: DuckDB is asked whether it would take it in a WHERE.
func (s *Session) rowwise(ctx context.Context, v *snapshot.View, conditions ...rewrite.Condition) error {
	for i := range conditions {
		text := conditions[i].Text()
		if text == "" {
			continue
		}
		plan, err := s.planDuck(ctx, dialect.SourceOf(text), v)
		if err == nil {
			plan.close()
			continue
		}
		if refused := conditions[i].Refused(err); refused != nil {
			return refused
		}
		if s.conn.Spoilt() {
			return dialect.WithoutPosition(err) // a constant without a value: nothing more runs in this transaction
		}
	}
	return nil
}

// rowwiseChange is rowwise of an UPDATE or a DELETE of this table.
func (s *Session) rowwiseChange(ctx context.Context, v *snapshot.View, head any, version *catalog.TableVersion) error {
	conditions, err := rewrite.ConditionsOf(head, version)
	if err != nil {
		return err
	}
	return s.rowwise(ctx, v, conditions...)
}
