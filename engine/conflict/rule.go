package conflict

import (
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/key"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Rule is what an INSERT … ON CONFLICT does to a table.
type Rule struct {
	head     *statement.Insert
	table    catalog.Table
	arbiters []key.Key
	numbers  dialect.Numbers // of the parameters of the INSERT's own query
}

// Given are the values of parameters that the INSERT's own query has; of no rule, all.
func (r *Rule) Given(args []any) []any {
	if r == nil {
		return args
	}
	return r.numbers.Pick(args)
}

// Asker is what is asked of the session before rows are known.
type Asker struct {
	// Rowwise is an error if what is said of single rows is not.
	Rowwise func(conditions ...rewrite.Condition) error
	// Parameters are those of a query.
	Parameters func(text string) ([]duckdb.ParameterType, error)
}

// Of is the rule of an INSERT with an ON CONFLICT into a table, and the types of the statement's parameters; those of
// its own query are given, with their numbers.
func Of(ask Asker, head *statement.Insert, table catalog.Table, given []duckdb.ParameterType,
	numbers dialect.Numbers) (*Rule, []duckdb.ParameterType, error) {
	r, err := arbitrated(head, table)
	if err == nil {
		r.numbers = numbers
	}
	if err != nil || !head.Conflict.Update {
		return r, given, err
	}
	text, conditions, err := r.question()
	if err != nil {
		return nil, nil, err
	}
	if err := ask.Rowwise(conditions...); err != nil {
		return nil, nil, err
	}
	text, own := dialect.Dense(text)
	types, err := ask.Parameters(text)
	if err != nil {
		return nil, nil, err
	}
	return r, own.Merge(numbers.Merge(nil, given), types), nil
}

func arbitrated(head *statement.Insert, table catalog.Table) (*Rule, error) {
	r := &Rule{head: head, table: table}
	keys, err := key.Of(table)
	if err != nil {
		return nil, err
	}
	switch {
	case head.Conflict.Constraint != "":
		err = r.named(keys)
	case head.Conflict.Columns != nil:
		err = r.inferred(keys)
	default:
		r.arbiters = keys
	}
	if err != nil {
		return nil, err
	}
	for _, k := range r.arbiters {
		if k.Deferrable {
			return nil, sqlerror.New("55000",
				"ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters")
		}
	}
	return r, nil
}

// named takes the key that ON CONSTRAINT names.
func (r *Rule) named(keys []key.Key) error {
	name := r.head.Conflict.Constraint
	for _, k := range keys {
		if k.Name == name && !k.IsIndex() {
			r.arbiters = []key.Key{k}
			return nil
		}
	}
	list, err := constraint.Of(r.table.Columns)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(c constraint.Constraint) bool { return c.Name == name && !c.IsIndex() }) {
		return r.at(sqlerror.New("42809", "constraint in ON CONFLICT clause has no associated index"))
	}
	return r.at(sqlerror.New("42704", "constraint %q for table %q does not exist", name, r.table.Name.Name))
}

// inferred takes all keys of the columns that are named, in whatever order.
func (r *Rule) inferred(keys []key.Key) error {
	c := r.head.Conflict
	var wanted []int
	for i, name := range c.Columns {
		at := ingest.Index(r.table.Columns, name)
		if at < 0 {
			e := sqlerror.New("42703", "column %q does not exist", name)
			e.At = c.ColumnsAt[i]
			return e
		}
		wanted = append(wanted, at)
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	for _, k := range keys {
		has := slices.Clone(k.Positions())
		if slices.Sort(has); slices.Equal(has, wanted) {
			r.arbiters = append(r.arbiters, k)
		}
	}
	if r.arbiters == nil {
		return r.at(sqlerror.New("42P10",
			"there is no unique or exclusion constraint matching the ON CONFLICT specification"))
	}
	return nil
}

func (r *Rule) at(e *sqlerror.Error) error {
	e.At = r.head.Conflict.At
	return e
}
