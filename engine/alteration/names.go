package alteration

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// constraints brings those of the table up to its columns.
func (a *alteration) constraints() error {
	gone := func(name string) bool {
		return slices.ContainsFunc(a.dropped, func(d string) bool { return strings.EqualFold(d, name) })
	}
	var stay []arrow.Field // a column that is added is not the one of its name that goes
	for _, c := range a.columns {
		if c.was != "" {
			stay = append(stay, c.Field)
		}
	}
	schema := arrow.NewSchema(stay, nil)
	var kept []constraint.Constraint
	for _, k := range a.checks {
		k.Columns, k.ReferencedColumns = slices.Clone(k.Columns), slices.Clone(k.ReferencedColumns)
		own := k.Kind == constraint.ForeignKey && k.References == 0
		if slices.ContainsFunc(k.Columns, gone) || own && slices.ContainsFunc(k.ReferencedColumns, gone) {
			continue // as in PostgreSQL
		}
		if k.Kind == constraint.Check {
			var err error
			stays := true
			if k, stays, err = a.check(schema, k); err != nil {
				return err
			}
			if !stays {
				continue
			}
		}
		a.follow(k.Columns)
		if own {
			a.follow(k.ReferencedColumns)
		}
		kept = append(kept, k)
	}
	a.checks = kept
	return nil
}

// follow writes a column's new name into a list of names.
func (a *alteration) follow(names []string) {
	for i, name := range names {
		if a.renamed[0] != "" && name == a.renamed[0] {
			names[i] = a.renamed[1]
		}
	}
}

// check is a CHECK for the columns that the table gets; it goes if it reads one that goes.
func (a *alteration) check(schema *arrow.Schema, k constraint.Constraint) (constraint.Constraint, bool, error) {
	if a.renamed[0] != "" && a.renamed[0] != a.renamed[1] {
		expression, err := a.renamedIn(k, a.renamed[0], a.renamed[1])
		if err != nil {
			return k, true, err
		}
		k.Expression = expression
	}
	if len(a.dropped) == 0 && !a.retypes() && a.renamed[0] == "" {
		return k, true, nil
	}
	err := a.types.Checks.Expression(schema, k, a.types.TypesOf())
	if state(err) == "42703" && len(a.dropped) > 0 {
		return k, false, nil
	}
	return k, true, err
}

func state(err error) string {
	if e, ok := err.(*sqlerror.Error); ok {
		return e.State
	}
	return ""
}

// renamedIn is a check's expression, and its calls, with another name for a column.
func (a *alteration) renamedIn(k constraint.Constraint, from, to string) (string, error) {
	return calling.Edited(k.Expression, func(text string) (string, error) {
		of := k
		of.Expression = text
		return renamedIn(of, a.table.Columns, from, to)
	})
}

// renamedIn is a text of a check with another name for a column. It is 0A000 if it is not certain what the
// expression names.
func renamedIn(k constraint.Constraint, columns *arrow.Schema, from, to string) (string, error) {
	const before = "SELECT ("
	refused := sqlerror.New("0A000",
		"column %q cannot be renamed: constraint %q names it in a way that does not bear another name", from, k.Name).
		WithHint("Drop the constraint, rename the column, and add the constraint again.")
	if !mentions(k.Expression, from) {
		return k.Expression, nil
	}
	tree := dialect.TreeOf(before + k.Expression + "\n)")
	if tree == nil || mentions(k.Expression, to) && !strings.EqualFold(from, to) {
		return "", refused
	}
	edited, ok, found := edit.New(k.Expression), true, 0
	dialect.EachNode(tree.ProtoReflect(), func(node any) {
		c, is := node.(*pg.ColumnRef)
		if !is {
			return
		}
		names := make([]string, len(c.Fields))
		for i, f := range c.Fields {
			names[i] = f.GetString_().GetSval()
		}
		at := 0 // of the column: behind the table's name, if there is one
		if len(names) > 1 && strings.EqualFold(names[0], k.Table) {
			ok = ok && ingest.Index(columns, names[0]) < 0
			at = 1
		}
		if !strings.EqualFold(names[at], from) {
			return
		}
		start, end, there := nameAt(k.Expression, int(c.Location)-len(before), at)
		ok = ok && there && edited.Replace(start, end, dialect.PlainIdentifier(to))
		found += end - start
	})
	text, _ := edited.Text()
	if !ok || found == 0 {
		return "", refused
	}
	return text, nil
}

// mentions reports whether a text has a word.
func mentions(text, word string) bool {
	read := lex.Client.Text(text)
	for at := 0; ; {
		t := read.Next(at)
		if t.Kind == lex.End {
			return false
		}
		if name, ok := t.Name(); ok && strings.EqualFold(name, word) || strings.EqualFold(t.Text, word) {
			return true
		}
		at = t.End()
	}
}

// nameAt is where the part of a dotted name that begins at a byte stands.
func nameAt(text string, at, part int) (start, end int, ok bool) {
	if at < 0 || at >= len(text) || !utf8.RuneStart(text[at]) {
		return 0, 0, false
	}
	read := lex.Client.Text(text)
	t := read.Next(at)
	for range part {
		if t = read.Next(t.End()); !t.Is(".") {
			return 0, 0, false
		}
		t = read.Next(t.End())
	}
	return t.Start, t.End(), t.Kind == lex.Word || t.Kind == lex.Quoted
}
