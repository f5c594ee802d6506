package dialect

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/statement"
)

// TreeMax bounds the texts whose trees are looked at: a tree costs about a microsecond per byte and only serves hints.
const TreeMax = 64 << 10

// Source is a text with what has been read of it, which its readers hand on to one another.
type Source struct {
	Read *lex.Text
	Tree *pg.ParseResult // nil: PostgreSQL's parser does not read it
}

// SourceOf reads a text.
func SourceOf(text string) Source {
	read := lex.Client.Text(text)
	if len(text) <= TreeMax {
		if parsed, err := statement.ParseText(read); err == nil {
			return Source{read, parsed.Tree}
		}
	}
	return Source{Read: read}
}

// Text is the text.
func (s Source) Text() string { return s.Read.SQL }

// TreeOf goes through statement.Parse, which keeps deep texts from PostgreSQL's recursive parser.
func TreeOf(text string) *pg.ParseResult { return SourceOf(text).Tree }
