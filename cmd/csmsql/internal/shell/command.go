package shell

import (
	"context"
	"fmt"
	"strings"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/present"
)

const commands = `Statements end with a semicolon and may take several lines. Ctrl-C cancels, Ctrl-D leaves.

  \d            tables and views
  \d NAME       columns of a table or view
  \dt           tables
  \dn           schemas
  \timing       show how long statements take, or no longer
  \format NAME  show results as table, csv, tsv, json or jsonl
  \i FILE       run a file of statements
  \?            this text
  \q            leave

`

// command runs one of the shell's own commands, and reports whether the shell ends by it.
func (s *Shell) command(ctx context.Context, text string) (done bool) {
	name, argument, _ := strings.Cut(strings.TrimRight(text, "; "), " ")
	argument = strings.TrimSpace(argument)
	switch name {
	case `\q`, `\quit`:
		return true
	case `\?`, `\h`, `\help`:
		s.out.WriteString(commands)
		s.out.Flush() // a terminal that is gone shows with the next prompt
	case `\timing`:
		s.timing = !s.timing
		fmt.Fprintf(s.errors, "Timing is %s.\n", map[bool]string{true: "on", false: "off"}[s.timing])
	case `\format`:
		s.setFormat(argument)
	case `\i`:
		s.interruptible(ctx, func(ctx context.Context) error { return s.File(ctx, argument) })
	default:
		sql := describing(name, argument)
		if sql == "" {
			fmt.Fprintf(s.errors, "There is no command %s. \\? lists them.\n", name)
			return false
		}
		s.interruptible(ctx, func(ctx context.Context) error { return s.statement(ctx, sql) })
	}
	return false
}

func (s *Shell) setFormat(name string) {
	sink, err := present.New(name, s.out)
	if err != nil {
		fmt.Fprintf(s.errors, "The formats are %s.\n", strings.Join(present.Formats, ", "))
		return
	}
	s.sink = sink
}

// describing is the statement behind a \d command, or "".
func describing(name, argument string) string {
	const relations = `SELECT table_schema AS "schema", table_name AS "name", lower(replace(table_type, 'BASE TABLE', 'TABLE')) AS "type"
FROM information_schema.tables WHERE table_schema NOT IN ('information_schema', 'pg_catalog')`
	switch name {
	case `\d`, `\d+`:
		if argument != "" {
			return "DESCRIBE " + argument
		}
		return relations + ` ORDER BY 1, 2`
	case `\dt`:
		return relations + ` AND table_type = 'BASE TABLE' ORDER BY 1, 2`
	case `\dv`:
		return relations + ` AND table_type = 'VIEW' ORDER BY 1, 2`
	case `\dn`:
		return `SELECT schema_name AS "name" FROM information_schema.schemata
WHERE schema_name NOT IN ('information_schema', 'pg_catalog') ORDER BY 1`
	}
	return ""
}
