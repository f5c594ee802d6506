package statement

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

func (c *cursor) begin(verb string) (any, error) {
	if verb == "start" && !c.accept("transaction") {
		return nil, c.unexpected()
	}
	if verb == "begin" {
		c.acceptAny("work", "transaction")
	}
	m, err := c.modes()
	return &Begin{Modes: m}, err
}

// modes reads ISOLATION LEVEL …, READ ONLY, … up to the end. Commas between them may be missing.
func (c *cursor) modes() (m Modes, err error) {
	for first := true; !c.done(); first = false {
		if !first {
			c.accept(",")
		}
		switch {
		case c.accept("read", "only"):
			m.ReadOnly, m.ReadWrite = true, false
		case c.accept("read", "write"):
			m.ReadOnly, m.ReadWrite = false, true
		case c.accept("deferrable"):
			m.Deferrable, m.NotDeferrable = true, false
		case c.accept("not", "deferrable"):
			m.Deferrable, m.NotDeferrable = false, true
		case c.accept("isolation", "level"):
			if m.Isolation = c.isolation(); m.Isolation == "" {
				return m, c.unexpected()
			}
		default:
			return m, c.unexpected()
		}
	}
	return m, nil
}

func (c *cursor) isolation() string {
	for _, level := range []string{"serializable", "repeatable read", "read committed", "read uncommitted"} {
		if c.accept(strings.Fields(level)...) {
			return level
		}
	}
	return ""
}

func (c *cursor) endTransaction(verb string) (any, error) {
	if c.peek(0).Is("prepared") {
		return nil, c.refuse(strings.ToUpper(verb)+" PREPARED", twoPhaseAdvice)
	}
	c.acceptAny("work", "transaction")
	if verb == "rollback" && c.accept("to") {
		name, err := c.savepointName()
		return &RollbackTo{Name: name}, err
	}
	chain := c.accept("and", "chain")
	if !chain {
		c.accept("and", "no", "chain")
	}
	if verb == "rollback" || verb == "abort" {
		return &Rollback{Chain: chain}, c.finish()
	}
	return &Commit{Chain: chain}, c.finish()
}

// savepointName reads [SAVEPOINT] name up to the end.
func (c *cursor) savepointName() (string, error) {
	if c.peek(1).Kind != lex.End { // else the word is the savepoint's name
		c.accept("savepoint")
	}
	name, ok := c.identifier()
	if !ok {
		return "", c.unexpected()
	}
	return name, c.finish()
}

func (c *cursor) savepoint() (any, error) {
	name, ok := c.identifier()
	if !ok {
		return nil, c.unexpected()
	}
	return &Savepoint{Name: name}, c.finish()
}

func (c *cursor) set() (any, error) {
	if c.peek(0).Is("variable") && !c.peek(1).IsAny("=", "to") {
		return &Private{Verb: "set"}, nil
	}
	if c.accept("constraints") {
		if !c.accept("all") {
			return nil, c.refuse("SET CONSTRAINTS of single constraints", "Leave it out: CHECK and NOT NULL, which nothing defers, are checked as rows are written, and no other constraint is.")
		}
		deferred := c.accept("deferred")
		if !deferred && !c.accept("immediate") {
			return nil, c.unexpected()
		}
		return &SetConstraints{Deferred: deferred}, c.finish()
	}
	s := &Set{}
	switch {
	case c.accept("session", "characteristics", "as", "transaction"):
		return c.setModes(true)
	case c.peek(0).Is("global") && !c.peek(1).IsAny("=", "to", "."):
		return nil, c.refuse("SET GLOBAL", "SET is for this session; what holds for all of them is given to the server when it starts.")
	case c.peek(0).Is("session") && !c.peek(1).IsAny("=", "to", ".", "authorization"):
		c.next()
	case c.peek(0).Is("local") && !c.peek(1).IsAny("=", "to", "."):
		c.next()
		s.Local = true
	}
	if c.peek(0).Is("transaction") && !c.peek(1).IsAny("=", "to", ".") {
		c.next()
		return c.setModes(false)
	}
	return s, c.assignSetting(s)
}

func (c *cursor) setModes(session bool) (any, error) {
	if c.peek(0).Is("snapshot") {
		return nil, c.refuse("SET TRANSACTION SNAPSHOT", "Each transaction reads the snapshot that it began with; none can be taken over.")
	}
	if c.done() {
		return nil, c.unexpected()
	}
	m, err := c.modes()
	return &SetModes{Modes: m, Session: session}, err
}

// assignSetting reads name = value and the forms that SQL has for some names.
func (c *cursor) assignSetting(s *Set) error {
	special := true
	switch {
	case c.accept("time", "zone"):
		s.Name = "timezone"
	case c.accept("session", "authorization"):
		s.Name = "session_authorization"
	case c.accept("xml", "option"):
		s.Name = "xmloption"
	case c.peek(0).Is("names") && !c.peek(1).IsAny("=", "to", "."):
		c.next()
		s.Name = "client_encoding"
		if c.done() {
			s.Default = true
			return nil
		}
	case c.peek(0).Is("schema") && c.peek(1).Kind == lex.String:
		c.next()
		s.Name = "search_path"
	case c.peek(0).Is("role") && !c.peek(1).IsAny("=", "to"):
		c.next()
		s.Name = "role"
	default:
		special = false
		var err error
		if s.Name, err = c.settingName(); err != nil {
			return err
		}
		if !c.acceptAny("to", "=") {
			return c.unexpected()
		}
	}
	if c.done() {
		return c.unexpected()
	}
	if c.accept("default") || special && s.Name == "timezone" && c.accept("local") {
		s.Default = true
		return c.finish()
	}
	if special && s.Name == "timezone" && c.accept("interval") {
		return c.intervalZone(s)
	}
	if err := c.settingValues(s); err != nil {
		return err
	}
	return c.finish()
}

// hoursMinutes is a time zone as an interval.
var hoursMinutes = regexp.MustCompile(`^\s*([+-]?)(\d{1,2}):([0-5]\d)\s*$`)

// intervalZone reads SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE; the value is in hours, as SET TIME ZONE -8 has it.
func (c *cursor) intervalZone(s *Set) error {
	at := c.peek(0)
	value, err := c.stringValue()
	if err != nil {
		return err
	}
	m := hoursMinutes.FindStringSubmatch(value)
	if m == nil {
		return &sqlerror.Error{State: "22023", Message: `invalid value for parameter "TimeZone": "` + value + `"`, At: c.position(at.Start),
			HintText: "Write INTERVAL '+02:00' HOUR TO MINUTE, or the name of a time zone."}
	}
	c.accept("hour", "to", "minute")
	hours, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi(m[3])
	s.Values = []string{m[1] + strconv.FormatFloat(float64(hours)+float64(minutes)/60, 'g', -1, 64)}
	return c.finish()
}

// settingValues reads value, value, …: words, strings and numbers.
func (c *cursor) settingValues(s *Set) error {
	for {
		sign := ""
		if c.peek(0).IsAny("+", "-") {
			if sign = c.next().Text; sign == "+" {
				sign = ""
			}
			if c.peek(0).Kind != lex.Number {
				return c.unexpected()
			}
		}
		value, err := c.settingValue()
		if err != nil {
			return err
		}
		s.Values = append(s.Values, sign+value)
		if !c.accept(",") {
			return nil
		}
	}
}

func (c *cursor) settingValue() (string, error) {
	t := c.peek(0)
	switch t.Kind {
	case lex.String:
		return c.stringValue()
	case lex.Word, lex.Quoted:
		if name, ok := c.label(); ok {
			return name, nil
		}
	case lex.Number:
		c.next()
		return t.Text, nil
	}
	return "", c.unexpected()
}

// settingName reads name or extension.name.
func (c *cursor) settingName() (string, error) {
	name, ok := c.label()
	for ok && c.accept(".") {
		var part string
		part, ok = c.label()
		name += "." + part
	}
	if !ok {
		return "", c.unexpected()
	}
	return name, nil
}

// knownName reads the name of a setting in RESET and SHOW.
func (c *cursor) knownName() (string, error) {
	switch {
	case c.accept("time", "zone"):
		return "timezone", nil
	case c.accept("transaction", "isolation", "level"):
		return "transaction_isolation", nil
	case c.accept("session", "authorization"):
		return "session_authorization", nil
	}
	return c.settingName()
}

func (c *cursor) reset() (any, error) {
	if c.peek(0).Is("variable") && c.peek(1).Kind == lex.Word {
		return &Private{Verb: "reset"}, nil
	}
	switch scope := c.peek(0); {
	case c.peek(1).Kind != lex.Word || c.peek(1).Is("authorization"):
	case scope.IsAny("local", "global"):
		return nil, c.refuse("RESET "+strings.ToUpper(scope.Text), "RESET is for this session; SET LOCAL … TO DEFAULT is until the transaction ends.")
	case scope.Is("session"):
		c.next()
	}
	name, err := c.knownName()
	if err != nil {
		return nil, err
	}
	return &Set{Name: name, Default: true, Reset: true}, c.finish()
}

// show distinguishes DuckDB's SHOW TABLES, which is a query, from PostgreSQL's SHOW of a setting.
func (c *cursor) show() (any, error) {
	t := c.peek(0)
	switch {
	case t.Is("("), t.IsAny("tables", "databases", "schemas") && (c.peek(1).Kind == lex.End || c.peek(1).Is("from")),
		t.Is("all") && c.peek(1).Is("tables"), t.IsAny("select", "values", "with", "from", "pivot", "unpivot") && c.peek(1).Kind != lex.End:
		return &Select{}, nil
	}
	name, err := c.knownName()
	if err != nil {
		return nil, err
	}
	return &Show{Name: name}, c.finish()
}

func (c *cursor) deallocate() (any, error) {
	if c.peek(1).Kind != lex.End {
		c.accept("prepare")
	}
	if c.accept("all") {
		return &Deallocate{}, c.finish()
	}
	name, ok := c.identifier()
	if !ok {
		return nil, c.unexpected()
	}
	return &Deallocate{Name: name}, c.finish()
}

func (c *cursor) discard() (any, error) {
	switch {
	case c.accept("all"):
		return &Discard{All: true}, c.finish()
	case c.accept("plans"):
		return &NoOp{Tag: "DISCARD PLANS"}, c.finish()
	case c.accept("sequences"):
		return &DiscardSequences{}, c.finish()
	case c.acceptAny("temp", "temporary"):
		return &DiscardTemporary{}, c.finish()
	}
	return nil, c.unexpected()
}

// listen reads LISTEN channel, UNLISTEN channel and UNLISTEN *.
func (c *cursor) listen(verb string) (any, error) {
	channel, ok := c.identifier()
	switch {
	case ok && verb == "listen":
		return &Listen{channel}, c.finish()
	case ok, verb == "unlisten" && c.accept("*"):
		return &Unlisten{channel}, c.finish()
	}
	return nil, c.unexpected()
}

// noOp reads what needs doing in PostgreSQL only. Nothing is left behind that VACUUM could clean up, statistics are
// made when rows are written, and every commit is durable without a checkpoint.
func (c *cursor) noOp(verb string) (any, error) {
	tag := strings.ToUpper(verb)
	switch {
	case verb == "analyse":
		tag = "ANALYZE"
	case verb == "force":
		tag = "CHECKPOINT"
		if c.peek(0).Is("install") {
			return nil, c.refuse("FORCE INSTALL", "There are no extensions but those that are built in.")
		}
		if !c.accept("checkpoint") {
			return nil, c.unexpected()
		}
	}
	switch verb {
	case "vacuum", "analyze", "analyse":
		n := &NoOp{Tag: tag}
		return n, c.maintained(n)
	}
	if verb == "checkpoint" && c.peek(0).Kind == lex.Word {
		return nil, c.refuse("CHECKPOINT of one database", "Write CHECKPOINT alone: there is one.")
	}
	return &NoOp{Tag: tag}, c.finish()
}

// maintenanceOptions are those of PostgreSQL. There is nothing that they could change: nothing is left behind, and
// statistics are always there.
var maintenanceOptions = map[string][]string{
	"VACUUM": {
		"full", "freeze", "verbose", "analyze", "disable_page_skipping", "skip_locked", "index_cleanup", "process_toast", "truncate", "parallel",
	},
	"ANALYZE": {"verbose", "skip_locked"},
}

// maintenance reads options in parentheses, or in the order that the older form has.
func (c *cursor) maintenance(tag string) (options []Option, err error) {
	at := c.position(c.peek(0).Start)
	if c.peek(0).Is("(") {
		if options, err = c.options(); err != nil {
			return nil, err
		}
	} else {
		for _, name := range maintenanceWords[tag] {
			if c.accept(name) || name == "analyze" && c.accept("analyse") {
				options = append(options, Option{Name: name})
			}
		}
	}
	for i := range options {
		if options[i].Name == "analyse" {
			options[i].Name = "analyze"
		}
	}
	if e, ok := checkMaintenance(tag, options).(*sqlerror.Error); ok {
		e.At = at
		return nil, e
	}
	return options, nil
}

// maintenanceWords are the options of the older form, in their order.
var maintenanceWords = map[string][]string{"VACUUM": {"full", "freeze", "verbose", "analyze"}, "ANALYZE": {"verbose"}}

// maintained reads the options and tables of VACUUM and ANALYZE.
func (c *cursor) maintained(n *NoOp) error {
	options, err := c.maintenance(n.Tag)
	if err != nil {
		return err
	}
	for _, o := range options {
		on, _ := o.boolean()
		n.Verbose = n.Verbose || on && o.Name == "verbose"
		n.Analyze = n.Analyze || on && o.Name == "analyze"
	}
	n.Analyze = n.Analyze || n.Tag == "ANALYZE"
	for !c.done() {
		c.accept("only")
		name, err := c.name()
		if err != nil {
			return err
		}
		at := c.position(c.peek(0).Start)
		columns, columnsAt, err := c.columns()
		if err != nil {
			return err
		}
		if columns != nil && !n.Analyze {
			return &sqlerror.Error{State: "0A000", Message: "ANALYZE option must be specified when a column list is provided", At: at}
		}
		n.Tables = append(n.Tables, Maintained{Name: name, Columns: columns, ColumnsAt: columnsAt})
		if !c.accept(",") {
			return c.finish()
		}
	}
	return nil
}
