package statement

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Merge changes a table as the rows of a source say. The texts of Source and On are what is behind USING and ON.
type Merge struct {
	With        string
	Name        Name
	Alias       string
	Source      string // as it stands in a FROM, with its alias
	SourceName  Name   // of a table, a view or a CTE; empty: the source is none
	SourceAlias string // what the words call the source
	On          string
	When        []When
}

// When says what becomes of a pair of rows that the condition joins, or of a row of the source that it joins with none.
type When struct {
	Matched    bool
	Condition  string // empty: there is none
	Action     MergeAction
	Set        []Assignment // of MergeUpdate
	Columns    []string     // of MergeInsert, nil when none were written
	ColumnsAt  []int        // where they stand, in characters from 1
	Overriding string       // SYSTEM or USER, in capitals; empty: not written
	Values     []MergeValue // nil: DEFAULT VALUES
}

// MergeValue is one value of a row that is inserted, or its column's default.
type MergeValue struct {
	Text    string
	Default bool
}

// MergeAction is what a WHEN does.
type MergeAction string

// What a WHEN may do.
const (
	MergeNothing MergeAction = "nothing"
	MergeUpdate  MergeAction = "update"
	MergeDelete  MergeAction = "delete"
	MergeInsert  MergeAction = "insert"
)

// merge reads behind MERGE.
func (c *cursor) merge(with string) (any, error) {
	if !c.accept("into") {
		return nil, c.unexpected()
	}
	m := &Merge{With: with}
	var err error
	if m.Name, m.Alias, err = c.target("using"); err != nil {
		return nil, err
	}
	if !c.accept("using") {
		return nil, c.unexpected()
	}
	if err := c.mergeSource(m); err != nil {
		return nil, err
	}
	if !c.accept("on") {
		return nil, c.unexpected()
	}
	if m.On = c.until(outsideCase("when")); m.On == "" || c.done() {
		return nil, c.unexpected()
	}
	unconditional := map[bool]bool{}
	for c.accept("when") {
		w, err := c.when()
		if err != nil {
			return nil, err
		}
		if unconditional[w.Matched] {
			return nil, &sqlerror.Error{State: "42601",
				Message: "unreachable WHEN clause specified after unconditional WHEN clause"}
		}
		unconditional[w.Matched] = w.Condition == ""
		m.When = append(m.When, w)
	}
	if c.peek(0).Is("returning") {
		return nil, c.refuse("MERGE … RETURNING", "Ask for the rows with a SELECT afterwards.")
	}
	return m, c.finish()
}

// outsideCase stops at a word that stands in no CASE, for as many tokens as it is asked of, from the first.
func outsideCase(word string) func(before, t lex.Token) bool {
	depth := 0
	return func(before, t lex.Token) bool {
		switch {
		case depth == 0 && isClause(before, t, word):
			return true
		case isClause(before, t, "case"):
			depth++
		case isClause(before, t, "end") && depth > 0:
			depth--
		}
		return false
	}
}

// mergeSource reads one entry of a FROM.
func (c *cursor) mergeSource(m *Merge) (err error) {
	start := c.peek(0).Start
	if _, query := c.group(); query {
		err = c.mergeAlias(m, "")
		if err == nil && m.SourceAlias == "" {
			return &sqlerror.Error{State: "42601", At: c.position(start),
				Message: "subquery in FROM must have an alias", HintText: "For example, FROM (SELECT ...) [AS] foo."}
		}
	} else {
		err = c.mergeNamed(m)
	}
	if err != nil {
		return err
	}
	m.Source = c.since(start)
	switch t := c.peek(0); {
	case joins(t):
		return c.refuse("MERGE … USING a join", "Write USING (SELECT … FROM a JOIN b …) AS s.")
	case t.Is("tablesample"):
		return c.refuse("MERGE … USING … TABLESAMPLE", "Write USING (SELECT … FROM t TABLESAMPLE …) AS s.")
	case t.Is("using"):
		return c.refuse("MERGE … USING (columns)", "Write ON with the condition.")
	}
	return nil
}

// joins reports whether an entry of a FROM goes on as a join.
func joins(t lex.Token) bool {
	return t.IsAny(",", "join", "inner", "left", "right", "full", "cross", "natural")
}

// mergeNamed reads a table's name, or a call of a function that gives rows.
func (c *cursor) mergeNamed(m *Merge) error {
	if c.peek(0).Is("lateral") || c.peek(0).Is("rows") && c.peek(1).Is("from") {
		return c.refuse("MERGE … USING "+strings.ToUpper(c.peek(0).Text), "Write USING (SELECT … FROM …) AS s.")
	}
	c.accept("only")
	name, err := c.name()
	if err != nil {
		return err
	}
	if _, call := c.group(); call {
		if c.accept("with") && !c.accept("ordinality") {
			return c.unexpected()
		}
	} else {
		m.SourceName = name
		c.accept("*")
	}
	return c.mergeAlias(m, name.Name)
}

// mergeAlias reads [[AS] alias [(columns)]]; without one the source is called by its name.
func (c *cursor) mergeAlias(m *Merge, name string) error {
	m.SourceAlias = name
	as := c.accept("as")
	if !as && (c.peek(0).IsAny("on", "tablesample", "using") || joins(c.peek(0))) {
		return nil
	}
	alias, ok := c.identifier()
	if !ok {
		return c.unexpected()
	}
	m.SourceAlias = alias
	c.group()
	return nil
}

// when reads behind WHEN.
func (c *cursor) when() (w When, err error) {
	w.Matched = !c.accept("not")
	if !c.accept("matched") {
		return w, c.unexpected()
	}
	if c.peek(0).Is("by") && !w.Matched {
		return w, c.refuse("MERGE … WHEN NOT MATCHED BY "+strings.ToUpper(c.peek(1).Text),
			"Write WHEN NOT MATCHED for rows of the source; DELETE … WHERE NOT EXISTS (…) for rows that it has not.")
	}
	if c.accept("and") {
		if w.Condition = c.until(outsideCase("then")); w.Condition == "" {
			return w, c.unexpected()
		}
	}
	if !c.accept("then") {
		return w, c.unexpected()
	}
	switch {
	case c.accept("do", "nothing"):
		w.Action = MergeNothing
	case w.Matched && c.accept("delete"):
		w.Action = MergeDelete
	case w.Matched && c.accept("update", "set"):
		w.Action = MergeUpdate
		w.Set, err = c.assignments()
		if slices.ContainsFunc(w.Set, func(a Assignment) bool { return a.Row != nil }) {
			err = c.refuse("assigning a query's row to several columns in a MERGE", "Assign each a query of its own.")
		}
	case !w.Matched && c.accept("insert"):
		w.Action = MergeInsert
		err = c.whenInsert(&w)
	default:
		err = c.unexpected()
	}
	return w, err
}

// whenInsert reads behind INSERT.
func (c *cursor) whenInsert(w *When) (err error) {
	if w.Columns, w.ColumnsAt, err = c.columns(); err != nil {
		return err
	}
	if c.accept("overriding") {
		if !c.peek(0).IsAny("system", "user") || !c.peek(1).Is("value") {
			return c.unexpected()
		}
		w.Overriding = strings.ToUpper(c.next().Text)
		c.next()
	}
	if w.Columns == nil && w.Overriding == "" && c.accept("default", "values") {
		return nil
	}
	if !c.accept("values", "(") {
		return c.unexpected()
	}
	for {
		v := MergeValue{Text: c.until(func(_, t lex.Token) bool { return isEnd(t) })}
		if v.Text == "" {
			return c.unexpected()
		}
		if len(v.Text) == len("default") && lex.Same(v.Text, "default") {
			v = MergeValue{Default: true}
		}
		w.Values = append(w.Values, v)
		if c.accept(")") {
			return nil
		}
		if !c.accept(",") {
			return c.unexpected()
		}
	}
}
