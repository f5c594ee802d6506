package duckdb

import (
	"context"
	"strings"
)

// DuckDB 1.5 can run some plans once only: its ASOF join takes the expressions of its equalities out of the plan
// while it runs, and a second run finds none, which is a fatal error: every statement of the database fails from
// then on. So such a statement is prepared again for its second run. TestASOFJoinsRunAgain of this package turns red
// when a later DuckDB can do without.

// Hides says that the statement names views, temporary or not, whose text says more than its own.
func (s *Statement) Hides() { s.hides = true }

// renew prepares the statement again if it has run and cannot run twice.
func (s *Statement) renew(ctx context.Context) error {
	if !s.ran {
		s.ran = true
		return nil
	}
	if !s.judged {
		s.judged, s.once = true, s.runsOnce(ctx)
	}
	if !s.once {
		return nil
	}
	fresh, err := s.connection.Prepare(s.sql)
	if err != nil {
		return err
	}
	if err := fresh.Bind(s.args); err != nil {
		fresh.Close()
		return err
	}
	s.adopt(fresh)
	return nil
}

// runsOnce reports whether the plan, or as much as the text, has an ASOF join.
func (s *Statement) runsOnce(ctx context.Context) bool {
	if strings.Contains(strings.ToLower(s.sql), "asof") {
		return true
	}
	if !s.hides || s.Kind() != KindSelect {
		return false
	}
	plan, err := s.connection.Prepare("EXPLAIN " + s.sql)
	if err != nil {
		return true // DuckDB explains no SHOW and no PIVOT
	}
	defer plan.Close()
	if plan.Bind(s.args) != nil {
		return true
	}
	rows, err := plan.Execute(ctx)
	if err != nil {
		return true
	}
	defer rows.Close()
	found := false
	for {
		batch, err := rows.Next()
		if err != nil {
			return found
		}
		for i := range int(batch.NumRows()) {
			found = found || strings.Contains(batch.Column(int(batch.NumCols())-1).ValueStr(i), "ASOF")
		}
		batch.Release()
	}
}
