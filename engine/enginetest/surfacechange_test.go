package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// change alters tables between executions of kept statements, in a block that is rolled back and outside of one.
func (f *surface) change(seed uint64, w *writer, kept []*keptQuestion) {
	var done []string
	fail := func(found string) bool {
		f.t.Errorf("%s, seed %d (CSMSQL_SEED=%[2]d):\n%s;\n%s;\n%s", f.name, seed, strings.Join(w.db.script(), ";\n"), strings.Join(done, ";\n"), found)
		return false
	}
	step := func(at *lent, sql string) bool {
		done = append(done, sql)
		undecided := f.seen.undecided
		if d := f.both(at, sql); d != "" {
			return fail(d)
		}
		return f.seen.undecided == undecided // else one side has failed, and its block is over
	}
	again := func() bool {
		for _, k := range kept {
			if !f.again(w, k, fail) {
				return false
			}
		}
		return true
	}
	if !again() {
		return
	}
	at := pick(w.Rand, f.writers)
	defer func() {
		at.exec("ROLLBACK")
		f.twin.exec("ROLLBACK")
	}()
	for _, block := range []bool{true, false, false} {
		if block && !step(at, "BEGIN") {
			return
		}
		for range 1 + w.IntN(3) {
			sql, tables := w.change()
			if f.twin.query("EXPLAIN "+sql, nil).state != "" {
				continue // an error would end our block and not DuckDB's
			}
			f.seen.changes++
			if !step(at, sql) {
				return
			}
			if w.maybe(50) && !f.same(w, at, tables, fail) {
				return
			}
		}
		w.parameters = false
		for range 3 {
			q := w.question()
			sql, _ := q.sql()
			if want := f.twin.query(sql, nil); want.state == "" && !q.risky {
				f.seen.queries++
				f.seen.compared++
				got := at.query(sql, nil)
				if got.tooLarge() {
					return
				}
				if d := f.verdict(got, want, q, sql, nil); d != "" {
					done = append(done, sql)
					fail(d)
					return
				}
				if got.state != "" {
					return // it has ended our block and not DuckDB's
				}
			}
		}
		if block && !step(at, "ROLLBACK") {
			return
		}
		if !again() {
			return
		}
	}
}

// same compares whole tables.
func (f *surface) same(w *writer, at *lent, tables []*relation, fail func(string) bool) bool {
	for _, t := range tables {
		sql := "SELECT * FROM " + t.name + " ORDER BY ALL"
		f.seen.compared++
		if d := f.verdict(at.query(sql, nil), f.twin.query(sql, nil), &question{ordered: true}, sql, nil); d != "" {
			return fail(sql + "\n" + d)
		}
	}
	return true
}

// again runs a statement that was prepared before, with the same and with other arguments.
func (f *surface) again(w *writer, k *keptQuestion, fail func(string) bool) bool {
	args := [][]any{k.args}
	if len(k.args) > 0 {
		args = append(args, k.otherArguments(w.Rand))
	}
	for _, a := range args {
		want := f.twin.query(k.text, a)
		if want.state != "" {
			continue // it would end a block of ours and not DuckDB's
		}
		f.seen.again++
		f.seen.compared++
		got := within(k.text, func(ctx context.Context) outcome { return collected(k.ours.Query(ctx, a...)) })
		if d := f.verdict(got, want, k.question, k.text, a); d != "" {
			return fail(fmt.Sprintf("prepared before, by %s: %s; -- %v\n%s", k.side.name, k.text, a, d))
		}
	}
	return true
}

// change is a statement that changes rows, and the tables that it changes.
func (w *writer) change() (string, []*relation) {
	t := pick(w.Rand, w.db.tables)
	own := &space{own: []named{{alias: t.name, fields: t.fields}}, deep: 1}
	w.parameters, w.aliases, w.budget, w.ctes = false, 0, 100_000, nil
	condition, _ := w.condition(own, 1).sql()
	if strings.Contains(condition, "DISTINCT FROM") && slices.ContainsFunc(t.fields, func(f field) bool { return hasArrays(f.typ.name) }) {
		condition = "k >= 0" // a filter of lists may hand DuckDB's own tables rows in another order, and their arrays are then [0, 0, 0]
	}
	switch n := w.IntN(20); {
	case n < 5 && len(t.lines) > 1:
		return t.insertSome(w.Rand, 1+w.IntN(4)), []*relation{t}
	case n < 7 && len(t.lines) > 1:
		return t.insertMany(w.Rand, 30), []*relation{t}
	case n < 9:
		fresh := fmt.Sprintf("SELECT * REPLACE (id + %d AS id) FROM %s WHERE %s", t.next, t.name, condition) // ids stay unique
		t.next, t.rows = t.next*2, t.rows*2
		return "INSERT INTO " + t.name + " " + fresh, []*relation{t}
	case n < 13:
		return "DELETE FROM " + t.name + " WHERE " + condition, []*relation{t}
	case n < 14:
		return "TRUNCATE " + t.name, []*relation{t}
	}
	var sets []string
	for _, f := range some(w, t.fields[1:], 1+w.IntN(2)) {
		if hasArrays(f.typ.name) {
			continue
		}
		value, _ := w.value(own, f.typ.family, 1).sql()
		if isNumber(f.typ.family) || w.maybe(50) {
			value = fmt.Sprintf("TRY_CAST(%s AS %s)", value, f.typ.name)
		}
		if w.maybe(40) {
			value = literal(w.Rand, f.typ)
		}
		sets = append(sets, f.name+" = "+value)
	}
	if sets == nil {
		sets = []string{"k = k"}
	}
	return "UPDATE " + t.name + " SET " + strings.Join(sets, ", ") + " WHERE " + condition, []*relation{t}
}
