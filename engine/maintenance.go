package engine

import (
	"context"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

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
	var list []*catalog.TableVersion
	for _, table := range head.Tables {
		if v.Own.Means(table.Name) {
			continue
		}
		version, err := v.Stored(table.Name)
		if err != nil && err != snapshot.ErrTemporary {
			return nil, st.parsed.PointAt(err, table.Name.Name)
		}
		if err := upkeep.RefuseMissing(version, table); err != nil {
			return nil, err
		}
		list = append(list, version)
	}
	if len(head.Tables) == 0 {
		list = v.Contents.Tables()
	}
	for _, text := range upkeep.Reports(list, head) {
		s.notice(Notice{Severity: "INFO", State: "00000", Message: text})
	}
	if err := s.engine.upkeep.Vacuum(ctx, head.Tag, list); err != nil {
		return nil, err
	}
	return done(head.Tag, 0), nil
}

// setConstraints is SET CONSTRAINTS ALL: no constraint that is deferrable is checked yet, so that there is nothing to defer, and nothing
// that could be checked at once.
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

// mayFreeze holds COPY … FREEZE to PostgreSQL's rule: rows may always have been there if nobody else can see the table.
func (s *Session) mayFreeze(tx *catalog.Transaction, head *statement.Copy, table catalog.Table) error {
	if !head.Freeze() || slices.Contains(tx.Redefined(), table.Name) ||
		s.block != nil && slices.Contains(s.block.emptied, table.ID) {
		return nil
	}
	return sqlerror.New("55000", "cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction").
		WithHint("Leave FREEZE out, or TRUNCATE the table in the same transaction.")
}
