package temporary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/planned"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Describe gives the columns that a query puts out, as DuckDB has them, and which of them are of users' types.
type Describe func(query string) (*arrow.Schema, []*enumeration.Type, error)

// Columns writes into a text that makes a table or a view of a query how PostgreSQL calls its columns, where DuckDB
// would call them otherwise; a list that the text has may name fewer than there are. describe is asked which columns a
// star stands for. Errors: 42601, 42701.
//
//	CREATE TEMP TABLE n AS SELECT count(*) …      CREATE TEMP TABLE n ("count") AS SELECT count(*) …
func Columns(text string, parsed *statement.Statement, describe Describe) (string, edit.List, error) {
	query := ""
	switch head := parsed.Head.(type) {
	case *statement.CreateTableAs:
		query = head.Query
	case *statement.CreateView:
		query = head.Query
	default:
		return text, nil, nil
	}
	names := pgcatalog.ColumnNames(parsed.Tree)
	if slices.Contains(names, "") {
		columns, _, err := describe(query)
		if err != nil {
			return text, nil, nil // it is found when the text is run
		}
		names = conform.Names(planned.ClientNames(columns, parsed.Tree, false))
	}
	read := lex.Client.Text(text)
	_, name, _ := dialect.Making(read)
	if name < 0 || len(names) == 0 {
		return text, nil, nil
	}
	last := read.Next(name)
	for dot := read.Next(last.End()); dot.Is("."); dot = read.Next(last.End()) {
		last = read.Next(dot.End())
	}
	at, written := last.End(), " (%s)"
	if list := read.Next(at); list.Is("(") {
		given := 0
		for last = list; !last.Is(")") && !last.Ends(); given++ {
			at = read.Next(last.End()).End()
			last = read.Next(at)
		}
		if given > len(names) {
			return "", nil, tooMany(parsed.Head)
		}
		if given == len(names) {
			return text, nil, nil
		}
		names, written = names[given:], ", %s"
	}
	list := make([]string, len(names))
	for i, name := range names {
		if list[i] = lex.Quote(name); slices.Contains(list[:i], list[i]) {
			return "", nil, sqlerror.New("42701", "column %q specified more than once", name)
		}
	}
	named, made := dialect.Inserted(text, at, fmt.Sprintf(written, strings.Join(list, ", ")))
	return named, made, nil
}

func tooMany(head any) error {
	if _, view := head.(*statement.CreateView); view {
		return sqlerror.New("42601", "CREATE VIEW specifies more column names than columns")
	}
	return sqlerror.New("42601", "too many column names were specified")
}
