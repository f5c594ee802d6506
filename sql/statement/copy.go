package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// copy reads behind COPY.
func (c *cursor) copy() (any, error) {
	y := &Copy{}
	if query, ok := c.group(); ok {
		y.Query = query
	} else if err := c.copyTable(y); err != nil {
		return nil, err
	}
	switch {
	case y.Query == "" && c.accept("from"):
		y.From = true
	case !c.accept("to"):
		return nil, c.unexpected()
	}
	if err := c.endpoint(y); err != nil {
		return nil, err
	}
	delimited := c.accept("using", "delimiters")
	if !delimited {
		c.accept("with")
	}
	var err error
	switch {
	case delimited:
		err = c.oldOption(y, "delimiter")
	case c.peek(0).Is("("):
		y.Options, err = c.options()
	default:
		err = c.oldOptions(y)
	}
	if err != nil {
		return nil, err
	}
	if c.peek(0).Is("where") {
		return nil, c.refuse("COPY … WHERE", "Copy into a temporary table and INSERT … SELECT … WHERE from there.")
	}
	if err := c.finish(); err != nil || !y.Client {
		return y, err
	}
	format := "text"
	for _, o := range y.Options {
		if o.Name == "format" {
			format = lex.Fold(o.Value)
		}
	}
	return y, y.Check(format)
}

func (c *cursor) copyTable(y *Copy) (err error) {
	if c.peek(0).Is("from") && c.peek(1).Is("database") {
		return c.refuse("COPY FROM DATABASE", "Copy the tables one by one.")
	}
	if c.peek(0).Is("binary") && !c.peek(1).IsAny("to", "from", ".", "(") {
		c.next()
		y.Options = []Option{{"format", "binary"}}
	}
	if y.Name, err = c.name(); err != nil {
		return err
	}
	y.Columns, y.ColumnsAt, err = c.columns()
	return err
}

func (c *cursor) endpoint(y *Copy) error {
	t := c.peek(0)
	switch {
	case t.IsAny("stdin", "stdout"): // PostgreSQL takes either for the client
		y.Client = true
	case t.Is("program"):
		return c.refuse("COPY … PROGRAM", "Run the program yourself and COPY … FROM STDIN.")
	case t.Kind == lex.String:
		file, ok := t.Value()
		if !ok || file == "" {
			return &sqlerror.Error{State: "22023", Message: t.Text + " is not the name of a file", At: c.position(t.Start)}
		}
		y.File = file
	default:
		return c.unexpected()
	}
	c.next()
	return nil
}

// options reads "(format csv, header, delimiter '|')".
func (c *cursor) options() ([]Option, error) {
	if !c.accept("(") {
		return nil, c.unexpected()
	}
	var out []Option
	for {
		at := c.peek(0)
		name, ok := c.label()
		if !ok {
			return nil, c.unexpected()
		}
		for _, o := range out {
			if o.Name == lex.Fold(name) {
				return nil, &sqlerror.Error{State: "42601", Message: "conflicting or redundant options", At: c.position(at.Start),
					HintText: "Write " + strings.ToUpper(o.Name) + " once."}
			}
		}
		value, err := c.optionValue()
		if err != nil {
			return nil, err
		}
		out = append(out, Option{Name: lex.Fold(name), Value: value})
		if c.accept(")") {
			return out, nil
		}
		if !c.accept(",") {
			return nil, c.unexpected()
		}
	}
}

// optionValue is the text up to the next comma; of a string, what it means.
func (c *cursor) optionValue() (string, error) {
	t := c.peek(0)
	if t.Kind != lex.String || !isEnd(c.peek(1)) {
		return c.until(func(_, t lex.Token) bool { return isEnd(t) }), nil
	}
	return c.stringValue()
}

func (c *cursor) stringValue() (string, error) {
	t := c.peek(0)
	if t.Kind != lex.String {
		return "", c.unexpected()
	}
	value, ok := t.Value()
	if !ok {
		return "", &sqlerror.Error{State: "22025", Message: "invalid escape in the string " + t.Text, At: c.position(t.Start)}
	}
	c.next()
	return value, nil
}

// oldOptions reads the options of before PostgreSQL 9: CSV HEADER DELIMITER AS '|' NULL AS ”.
func (c *cursor) oldOptions(y *Copy) error {
	for !c.done() && !c.peek(0).Is("where") {
		t := c.peek(0)
		name := lex.Fold(t.Text)
		switch {
		case t.IsAny("csv", "binary"):
			c.next()
			y.Options = append(y.Options, Option{"format", name})
		case t.IsAny("header", "freeze"):
			c.next()
			y.Options = append(y.Options, Option{Name: name})
		case t.IsAny("delimiter", "delimiters", "null", "quote", "escape", "encoding"):
			c.next()
			if name == "delimiters" {
				name = "delimiter"
			}
			if err := c.oldOption(y, name); err != nil {
				return err
			}
		case t.Is("force"):
			c.next()
			if err := c.forced(y); err != nil {
				return err
			}
		default:
			return c.unexpected()
		}
	}
	return nil
}

// forced reads QUOTE, NOT NULL or NULL and the columns behind FORCE.
func (c *cursor) forced(y *Copy) error {
	o := Option{}
	switch {
	case c.accept("quote"):
		o.Name = "force_quote"
	case c.accept("not", "null"):
		o.Name = "force_not_null"
	case c.accept("null"):
		o.Name = "force_null"
	default:
		return c.unexpected()
	}
	from := c.peek(0).Start
	if !c.accept("*") {
		for {
			if _, ok := c.identifier(); !ok {
				return c.unexpected()
			}
			if !c.accept(",") {
				break
			}
		}
	}
	o.Value = c.since(from)
	y.Options = append(y.Options, o)
	return nil
}

func (c *cursor) oldOption(y *Copy, name string) error {
	c.accept("as")
	value, err := c.stringValue()
	y.Options = append(y.Options, Option{name, value})
	return err
}
