package sequence

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// key of the metadata of a view's columns.
const key = "csm.sequence"

// Definition is what a sequence is, beside its name.
type Definition struct {
	Type      string `json:"type"` // smallint, integer, bigint
	Start     int64  `json:"start"`
	Increment int64  `json:"increment"`
	Min       int64  `json:"min"`
	Max       int64  `json:"max"`
	Cached    int64  `json:"cache"`
	Cycle     bool   `json:"cycle,omitempty"`
	// First is what the counter begins with: Start, or what it was restarted with.
	First int64 `json:"first"`
	// Owner is the table with whose column the sequence goes, 0: none.
	Owner  uint64 `json:"owner,omitempty"`
	Column string `json:"column,omitempty"`
	// Identity: the column is an identity column, and the sequence a part of it.
	Identity bool `json:"identity,omitempty"`
	// Edition grows with every change.
	Edition int `json:"edition,omitempty"`
}

// Of is the definition of a view that is a sequence; not is: it is none.
func Of(view *catalog.View) (d Definition, is bool) {
	if view == nil || view.Counter == 0 || view.Columns == nil {
		return d, false
	}
	text, ok := view.Columns.Metadata().GetValue(key)
	return d, ok && json.Unmarshal([]byte(text), &d) == nil
}

// Numbered finds a sequence by its number; nil: there is none.
func Numbered(contents *catalog.Contents, number int64) *catalog.View {
	for _, view := range contents.Views() {
		if view.ID == catalog.TableID(number) && view.Counter != 0 {
			return view
		}
	}
	return nil
}

// OwnedBy are the sequences of a table; column is one of its, empty: of any.
func OwnedBy(contents *catalog.Contents, table catalog.TableID, column string) (list []*catalog.View) {
	for _, view := range contents.Views() {
		d, is := Of(view)
		if is && d.Owner == uint64(table) && (column == "" || d.Column == column) {
			list = append(list, view)
		}
	}
	return list
}

// with is a view that has the definition.
func with(view *catalog.View, d Definition) (*catalog.View, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var others arrow.Metadata
	fields := []arrow.Field{
		{Name: "last_value", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "log_cnt", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "is_called", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	}
	if view.Columns != nil { // what others say of it stays
		fields, others = view.Columns.Fields(), view.Columns.Metadata()
	}
	meta := mark.With(others, key, string(text))
	next := *view
	next.Columns = arrow.NewSchema(fields, &meta)
	next.SQL = fmt.Sprintf("SELECT csm_sequence(%d, 0) AS last_value, CAST(0 AS BIGINT) AS log_cnt, "+
		"csm_sequence(%d, 1) = 1 AS is_called", next.ID, next.ID)
	return &next, nil
}

// ranges are the values of types.
var ranges = map[string][2]int64{
	"smallint": {math.MinInt16, math.MaxInt16}, "integer": {math.MinInt32, math.MaxInt32},
	"bigint": {math.MinInt64, math.MaxInt64},
}

// typeNames are the words for them.
var typeNames = map[string]string{
	"": "bigint", "smallint": "smallint", "int2": "smallint", "integer": "integer", "int": "integer", "int4": "integer",
	"bigint": "bigint", "int8": "bigint",
}

func invalid(format string, args ...any) error { return sqlerror.New("22023", format, args...) }

// New is the definition of a sequence that is made.
func New(o *statement.SequenceOptions) (Definition, error) {
	d := Definition{Increment: 1, Cached: 1}
	name, ok := typeNames[o.Type]
	if !ok {
		return d, invalid("sequence type must be smallint, integer, or bigint")
	}
	d.Type = name
	if err := d.bounds(o, true, true); err != nil {
		return d, err
	}
	d.Start = d.Min
	if d.Increment < 0 {
		d.Start = d.Max
	}
	if o.Start != nil {
		d.Start = *o.Start
	}
	d.First = d.Start
	return d, d.check(d.Start, "START")
}

// Options are those by which New makes the same sequence.
func (d Definition) Options() statement.SequenceOptions {
	return statement.SequenceOptions{
		Type: d.Type, Increment: &d.Increment, Min: &d.Min, Max: &d.Max, Start: &d.Start, Cached: &d.Cached,
		Cycle: &d.Cycle,
	}
}

// bounds take what the options say of steps and bounds; min and max: those that are not given become the defaults.
func (d *Definition) bounds(o *statement.SequenceOptions, min, max bool) error {
	if o.Increment != nil {
		d.Increment = *o.Increment
	}
	if d.Increment == 0 {
		return invalid("INCREMENT must not be zero")
	}
	if o.Cycle != nil {
		d.Cycle = *o.Cycle
	}
	most := ranges[d.Type]
	ascends := d.Increment > 0
	switch {
	case o.Max != nil:
		d.Max = *o.Max
	case (o.NoMax || max) && ascends:
		d.Max = most[1]
	case o.NoMax || max:
		d.Max = -1
	}
	switch {
	case o.Min != nil:
		d.Min = *o.Min
	case (o.NoMin || min) && ascends:
		d.Min = 1
	case o.NoMin || min:
		d.Min = most[0]
	}
	for _, bound := range []struct {
		name  string
		value int64
	}{{"MAXVALUE", d.Max}, {"MINVALUE", d.Min}} {
		if bound.value < most[0] || bound.value > most[1] {
			return invalid("%s (%d) is out of range for sequence data type %s", bound.name, bound.value, d.Type)
		}
	}
	if d.Min >= d.Max {
		return invalid("MINVALUE (%d) must be less than MAXVALUE (%d)", d.Min, d.Max)
	}
	if o.Cached != nil {
		d.Cached = *o.Cached
	}
	if d.Cached <= 0 {
		return invalid("CACHE (%d) must be greater than zero", d.Cached)
	}
	return nil
}

// check is an error of a value that is not within the bounds.
func (d *Definition) check(value int64, what string) error {
	if value < d.Min {
		return invalid("%s value (%d) cannot be less than MINVALUE (%d)", what, value, d.Min)
	}
	if value > d.Max {
		return invalid("%s value (%d) cannot be greater than MAXVALUE (%d)", what, value, d.Max)
	}
	return nil
}

// altered is the definition that ALTER SEQUENCE makes of one; restarts: it restarts from First. last is its last value.
func (d Definition) altered(o *statement.SequenceOptions, last int64) (next Definition, restarts bool, err error) {
	next = d
	min, max := false, false
	if o.Type != "" {
		name, ok := typeNames[o.Type]
		if !ok {
			return d, false, invalid("sequence type must be smallint, integer, or bigint")
		}
		was := ranges[d.Type]
		min, max = d.Min == was[0], d.Max == was[1] // those of the type follow it
		next.Type = name
	}
	if err := next.bounds(o, min, max); err != nil {
		return d, false, err
	}
	if o.Start != nil {
		next.Start = *o.Start
	}
	if err := next.check(next.Start, "START"); err != nil {
		return d, false, err
	}
	switch {
	case o.Restart != nil:
		next.First, restarts = *o.Restart, true
	case o.RestartAtStart:
		next.First, restarts = next.Start, true
	}
	if restarts {
		last = next.First
	}
	next.Edition++
	return next, restarts, next.check(last, "RESTART")
}
