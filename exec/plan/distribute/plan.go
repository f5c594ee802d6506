package distribute

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/internal/counted"
)

// Single says that a statement is to be run whole by the coordinator, as if there were no other node: there is no
// distributed operator in it at all (D2).
type Single struct {
	Reason string // for people: "no row of lineitem lies on another node"
}

// String is one line for EXPLAIN.
func (s *Single) String() string { return "single node: " + s.Reason }

// Distributed is a plan: stages to be run in order (those that read no result of each other at once, if one likes),
// then Final at the coordinator, whose rows are the statement's. It is immutable.
//
// Names and types of the result are those of the statement prepared as it stands: column i of Final is column i of the
// statement. Names are taken over by position; where a type differs, the caller must run the statement whole (D3).
type Distributed struct {
	Stages []Stage
	Final  Text

	SingleCost, Cost float64 // estimates in bytes read by the busiest node: whole at the coordinator, and as planned
}

// Text is SQL in DuckDB's dialect that PostgreSQL's parser reads, too, so that plan.Scans can be asked about it.
type Text struct {
	SQL        string
	Reads      []Read // the tables in it, by Start
	Parameters []int  // $i of SQL is $Parameters[i-1] of the statement
}

// Read is one occurrence of a relation in a Text.
type Read struct {
	plan.Span                // of its name, where plan.Scans finds it
	Relation  *plan.Relation // the base table; nil for the result of a stage
	Stage     int            // the stage whose result it is, named as [StageName] says; 0 for a base table
	Part      bool           // only the fragment's part: of a table what lies nearest to Fragment.Part, of a stage Fragment.Partition

	origin int // index of the occurrence in the statement
}

// Stage is one SQL text that several nodes run, each over its part. Its result is the relation StageName(Number) with
// the
// columns c0, c1, … in the order of Fragments (and within one, of its rows), which other nodes read in place.
type Stage struct {
	Text
	Number    int    // from 1
	Form      string // what the fragments give: "rows", "partial groups", …; for people
	Columns   int
	Shuffle   *Shuffle
	Fragments []Fragment // at least one
}

// Shuffle says that a fragment's rows are written in partitions: row r into partition hash(Columns of r) mod
// Partitions. Equal values (as = compares them, and NULL with NULL) must get equal hashes, in every stage whose
// shuffled columns have the same types in the same order.
type Shuffle struct {
	Columns    []int
	Partitions int
}

// Fragment is one node's share of a stage. Any other node may run it instead: it only reads more remotely.
type Fragment struct {
	Node      string // that runs it
	Part      string // the node whose part of the restricted tables it reads
	Partition int    // the partition of the restricted stages that it reads
	Estimate
}

// Estimate is what a fragment or the final text reads of base tables, before chunks are pruned.
type Estimate struct {
	LocalRows, RemoteRows   int64
	LocalBytes, RemoteBytes int64
}

// StageName is the relation that a stage's result is known by.
func StageName(number int) string { return fmt.Sprintf("csm_stage_%d", number) }

// Messages counts what must be sent to run the plan: a request and an answer for each fragment. It grows by two
// with each node and stage (D6).
func (d *Distributed) Messages() int {
	n := 0
	for i := range d.Stages {
		n += 2 * len(d.Stages[i].Fragments)
	}
	return n
}

// After lists the stages whose results the text reads, ascending.
func (t *Text) After() (stages []int) {
	for _, r := range t.Reads {
		if r.Stage > 0 && !slices.Contains(stages, r.Stage) {
			stages = append(stages, r.Stage)
		}
	}
	slices.Sort(stages)
	return stages
}

// Restricted reports whether the occurrence whose name stands at an offset is read in part.
func (t *Text) Restricted(start int) bool {
	return slices.ContainsFunc(t.Reads, func(r Read) bool { return r.Start == start && r.Part })
}

// String is the plan in words, with what the fragments are thought to read.
func (d *Distributed) String() string {
	return d.Describe(func(_ *Stage, f *Fragment) string { return f.Estimate.String() }, "")
}

// Describe is what EXPLAIN shows: the plan in words, with what the caller knows of each fragment and of the final text.
func (d *Distributed) Describe(fragment func(*Stage, *Fragment) string, final string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "distributed: %s, %s, gain %.2f\n", counted.Of(len(d.Stages), "stage"), counted.Of(d.Messages(), "message"), d.Gain())
	for i := range d.Stages {
		d.Stages[i].describe(&b, fragment)
	}
	b.WriteString("final")
	if final != "" {
		b.WriteString(": " + final)
	}
	d.Final.describe(&b)
	return b.String()
}

func (e *Estimate) String() string {
	return fmt.Sprintf("%s, %s local; %s, %s remote", counted.Of(e.LocalRows, "row"), counted.Of(e.LocalBytes, "byte"), counted.Of(e.RemoteRows, "row"), counted.Of(e.RemoteBytes, "byte"))
}

// Gain is how many times faster the plan should be than the single node.
func (d *Distributed) Gain() float64 {
	if d.Cost <= 0 {
		return 1
	}
	return d.SingleCost / d.Cost
}

func (s *Stage) describe(b *strings.Builder, fragment func(*Stage, *Fragment) string) {
	fmt.Fprintf(b, "stage %d: %s in %s", s.Number, s.Form, counted.Of(s.Columns, "column"))
	if s.Shuffle != nil {
		fmt.Fprintf(b, ", written in %s by %s", counted.Of(s.Shuffle.Partitions, "partition"), columnNames(s.Shuffle.Columns))
	}
	s.Text.describe(b)
	for i := range s.Fragments {
		f := &s.Fragments[i]
		fmt.Fprintf(b, "  on %s", f.Node)
		if f.Part != "" && f.Part != f.Node {
			fmt.Fprintf(b, " for %s", f.Part)
		}
		fmt.Fprintf(b, ": %s\n", fragment(s, f))
	}
}

func (t *Text) describe(b *strings.Builder) {
	for _, r := range t.Reads {
		name, how := StageName(r.Stage), "whole"
		if r.Relation != nil {
			name = r.Relation.Name
		}
		switch {
		case r.Part && r.Stage > 0:
			how = "one partition"
		case r.Part:
			how = "the node's part"
		}
		fmt.Fprintf(b, "\n  reads %s [%d,%d) %s", name, r.Start, r.End, how)
	}
	if len(t.Parameters) > 0 {
		fmt.Fprintf(b, "\n  parameters %v", t.Parameters)
	}
	fmt.Fprintf(b, "\n  %s\n", strings.Join(strings.Fields(t.SQL), " "))
}

func columnNames(columns []int) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = fmt.Sprintf("c%d", c)
	}
	return strings.Join(names, ", ")
}
