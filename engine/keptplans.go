package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/split"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/statement"
)

// Dashboards ask the same text again and again, and so does a coordinator of its nodes. To plan it takes DuckDB as long as to run a small
// query, and the key sets of predicate transfer are a part of the plan. So a plan outlives its statement: the session keeps it, and takes
// it for the next statement of the same text, as the protocol's prepared statements do for theirs.
//
//	text ─► kept? ─ fresh ─────────────────► run ─► statement closed ─► kept, the last ones of a session, within what the engine allows
//	           └ no, or not fresh ─► plan ────┘
//
// It must be certain that planning the text again would give the same: every name in it is that of a table whose version belongs to the plan
// (query.fresh), every function's value depends on its arguments alone, and the session has run nothing since that
// could change planning: that drops its plans. SET plan_cache_mode = force_custom_plan replans every statement.

const (
	keptOfSession = 64  // plans: more texts than the pages of a dashboard ask, in turn, and than a node has fragments of them
	keptOfEngine  = 512 // plans, of all sessions
	keptPart      = 32  // of MemoryBytes may be the key sets of them
)

// keptPlans are those of one session, the one that was used last at the end.
type keptPlans struct{ list []*query }

// takePlan gives the plan that is kept for a key, if it still stands for what v shows; it is the caller's then.
func (s *Session) takePlan(key string, v *snapshot.View) *query {
	i := slices.IndexFunc(s.kept.list, func(q *query) bool { return q.key == key })
	if i < 0 {
		return nil
	}
	q := s.dropPlan(i)
	if !q.fresh(v) {
		q.close()
		return nil
	}
	return q
}

// keptText is what a text is whose plan is kept: a query. It has no tree, which is only for planning. nil: it is to be parsed.
func (s *Session) keptText(text, in string) *statement.Statement {
	i := s.keptAt(text, in)
	if i < 0 {
		return nil
	}
	return &statement.Statement{Text: text, Head: &statement.Select{Constant: s.kept.list[i].compute.Constant()}}
}

// replansAlways reports whether no plan is used for a second statement.
func (s *Session) replansAlways() bool {
	return s.settings.Given[setting.PlanCacheMode] == setting.ForceCustomPlan || s.without().Has(optimization.KeptPlans)
}

// keptAt is which of the plans that are kept is a text's; -1: none.
func (s *Session) keptAt(key, in string) int {
	duck := in == DialectDuckDB
	return slices.IndexFunc(s.kept.list, func(q *query) bool { return q.key == key && (q.typed || duck) })
}

// keepPlan is where a plan goes that has done its work.
func (s *Session) keepPlan(q *query) {
	if q.key == "" || len(q.key) > dialect.TreeMax || s.life.Context.Err() != nil {
		q.close()
		return
	}
	for len(s.kept.list) >= keptOfSession {
		s.dropPlan(0).close()
	}
	q.kept, q.bytes = q.keptBytes(), s.account.OfPlan(len(q.text), conform.Width(q.schema))
	if !s.engine.kept.Take(q.kept) {
		q.close()
		return
	}
	if s.Take(account.Plan, q.bytes) != nil { // which has dropped older ones
		s.engine.kept.Give(q.kept)
		q.close()
		return
	}
	s.kept.list = append(s.kept.list, q)
}

func (s *Session) dropPlan(i int) *query {
	q := s.kept.list[i]
	s.kept.list = slices.Delete(s.kept.list, i, i+1)
	s.engine.kept.Give(q.kept)
	s.Give(account.Plan, q.bytes)
	return q
}

// forgetPlans is for whatever may mean something to planning.
func (s *Session) forgetPlans() {
	for len(s.kept.list) > 0 {
		s.dropPlan(len(s.kept.list) - 1).close()
	}
}

// keptBytes is the memory of the plan's key sets, and at most of its requests to nodes.
func (q *query) keptBytes() (bytes int64) {
	if q.split != nil {
		bytes = split.RequestBytes
	}
	for _, t := range q.scans {
		for _, f := range t.KeyFilters {
			bytes += f.Keys.Bytes()
		}
	}
	return bytes
}

// found notes of how long the plan stands by what is known of its statement.
func (q *query) found(sql *plan.Statement) {
	q.named = sql.Tree != nil && !q.Late && !q.AsText && !q.viewed && sql.ReadsOnly() && distribute.Replayable(sql.Tree)
	q.lasts = q.named && distribute.Reproducible(sql.Tree)
}

// meanings are what the plan's names mean in v, for which it was made; nil where what it depends on is not found out: what
// DuckDB looks up, and what several nodes are sent, which says of which revision it is.
func (q *query) meanings(v *snapshot.View) lookup.Meanings {
	lost := v.Contents.Err() != nil // another statement may find what this one has not
	if q.Own = q.Own || lost; lost || !q.named || q.split != nil || q.session.temporary {
		return nil
	}
	return q.Reads.Meanings(v.Meaning)
}

// follow has a plan read what the parts of the statement have made this time; false: it cannot.
func (q *query) follow(ctx context.Context, v *snapshot.View) bool {
	e := q.session.engine
	if q.Faults != e.reader.Faults() {
		return false
	}
	for _, t := range q.scans {
		switch {
		case t.Hint == nil || t.OfResults:
			return false
		case !t.Result:
			continue
		}
		version := v.Find(t.Hint.Relation.Schema, t.Hint.Relation.Name)
		if version == nil || !version.Table().Columns.Equal(t.Duck.Schema) {
			return false
		}
		f := e.facts.Of(version)
		if !maps.EqualFunc(e.scans.Domains(ctx, f, t.Hint.EnumSafe), t.Duck.Domains, slices.Equal[[]string]) {
			return false
		}
		t.Facts, t.Duck.Rows = f, version.Rows()
	}
	return true
}
