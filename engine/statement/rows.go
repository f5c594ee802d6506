package statement

import "strings"

// readInsert reads behind INSERT; with is the text of the WITH clause before it.
func readInsert(c *cursor, with string) (any, error) {
	if !c.accept("into") {
		return nil, c.unexpected()
	}
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	i := &Insert{Name: name}
	if c.accept("as") {
		c.next()
	}
	if c.peek(0).text == "(" && !startsQuery(c.peek(1)) {
		if i.Columns, err = c.names(); err != nil {
			return nil, err
		}
	}
	switch {
	case c.accept("by", "name"):
		i.ByName = true
	case c.accept("by", "position"):
	case c.accept("overriding", "system", "value"), c.accept("overriding", "user", "value"):
	}
	if c.accept("default", "values") {
		return i, nil
	}
	if c.done() {
		return nil, c.unexpected()
	}
	from := c.peek(0).start
	for !c.done() {
		if c.peek(0).word == "returning" {
			return nil, unsupported("INSERT … RETURNING is not supported", "")
		}
		if c.peek(0).word == "on" && c.peek(1).word == "conflict" {
			return nil, unsupported("INSERT … ON CONFLICT is not supported: tables have no unique constraints", "")
		}
		skipOne(c)
	}
	i.Query = with + strings.TrimSpace(c.sql[from:])
	return i, nil
}

// startsQuery tells a parenthesized query from a list of columns.
func startsQuery(t token) bool {
	switch t.word {
	case "select", "values", "with", "from", "table":
		return true
	}
	return t.text == "("
}

func readCopy(c *cursor) (any, error) {
	y := &Copy{}
	if query, ok := c.skipParentheses(); ok {
		y.Query = strings.TrimSpace(query)
	} else {
		var err error
		if y.Name, err = c.name(); err != nil {
			return nil, err
		}
		if y.Columns, err = c.names(); err != nil {
			return nil, err
		}
	}
	switch {
	case c.accept("from"):
		y.From = true
	case !c.accept("to"):
		return nil, c.unexpected()
	}
	if err := readEndpoint(c, y); err != nil {
		return nil, err
	}
	c.accept("with")
	if text, ok := c.skipParentheses(); ok {
		options, err := readOptions(text)
		if err != nil {
			return nil, err
		}
		y.Options = options
	} else if err := readOldOptions(c, y); err != nil {
		return nil, err
	}
	if !c.done() {
		return nil, c.unexpected()
	}
	return y, nil
}

func readEndpoint(c *cursor, y *Copy) error {
	t := c.next()
	switch {
	case t.word == "stdin" && y.From, t.word == "stdout" && !y.From:
		y.Client = true
	case strings.HasPrefix(t.text, "'"):
		y.File = unquote(t.text)
	case t.word == "program":
		return unsupported("COPY … PROGRAM is not supported", "")
	default:
		c.at--
		return c.unexpected()
	}
	return nil
}

func unquote(text string) string {
	return strings.ReplaceAll(strings.Trim(text, "'"), "''", "'")
}

// readOptions reads "format csv, header, delimiter '|'".
func readOptions(text string) ([]Option, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	c := &cursor{sql: text, tokens: tokens}
	var out []Option
	for !c.done() {
		name, ok := c.identifier()
		if !ok {
			return nil, c.unexpected()
		}
		from := c.peek(0).start
		for !c.done() && c.peek(0).text != "," {
			skipOne(c)
		}
		out = append(out, Option{Name: name, Value: optionValue(text[from:c.peek(0).start])})
		c.accept(",")
	}
	return out, nil
}

func optionValue(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "'") && strings.HasSuffix(text, "'") && len(text) > 1 {
		return strings.ReplaceAll(text[1:len(text)-1], "''", "'")
	}
	if len(text) > 2 && (text[0] == 'E' || text[0] == 'e') && text[1] == '\'' {
		return strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\\`, `\`).Replace(text[2 : len(text)-1])
	}
	return text
}

// readOldOptions reads the options of before PostgreSQL 9: CSV HEADER DELIMITER AS '|' NULL AS ”.
func readOldOptions(c *cursor, y *Copy) error {
	for !c.done() {
		t := c.next()
		switch t.word {
		case "csv", "binary":
			y.Options = append(y.Options, Option{"format", t.word})
		case "header", "freeze":
			y.Options = append(y.Options, Option{Name: t.word})
		case "delimiter", "delimiters", "null", "quote", "escape", "encoding":
			c.accept("as")
			y.Options = append(y.Options, Option{strings.TrimSuffix(t.word, "s"), optionValue(c.next().text)})
		default:
			c.at--
			return c.unexpected()
		}
	}
	return nil
}
