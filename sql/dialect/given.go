package dialect

import (
	"cmp"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/notation"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// What a session's text means. It is translated once, where it comes in: what is kept of it, a view's query as much as
// a prepared statement, is DuckDB's from there on, whatever the session says later.
const (
	DuckDBName   = "duckdb"   // what it means in DuckDB 1.5
	PostgresName = "postgres" // what it means in PostgreSQL 15, as far as docs/dialect.md says
)

// Name is PostgreSQL's, or DuckDB's.
func Name(postgres bool) string {
	if postgres {
		return PostgresName
	}
	return DuckDBName
}

// Check refuses what names no dialect; nothing stands for PostgreSQL's, the default.
func Check(name string) error {
	switch name {
	case "", DuckDBName, PostgresName:
		return nil
	}
	return sqlerror.New("22023", "invalid value for parameter %q: %q", "csm.dialect", name).
		WithHint("Available values: duckdb, postgres.")
}

// Written is how a user wrote a statement, where another text is planned: 0x1F is 31 there (notation.Plain), ? is $1
// (statement.Numbered), and a / b may be a function. Errors point into the user's text. The zero value is that of a
// text that was planned as it was.
type Written struct {
	Users, Given string
	Edits        edit.List
	Parameters   []string // the names of $1, $2, … that the user gave them
}

// Given is the text that is planned for one that means what a dialect says: the same one, if it is planned as it is.
func Given(users *lex.Text, in string) (*lex.Text, Written, error) {
	w := Written{Users: users.SQL}
	if isFunction(users) {
		return users, Written{}, nil
	}
	var err error
	if w.Given, w.Edits, w.Parameters, err = statement.Numbered(users); err != nil {
		return nil, Written{}, err
	}
	read := next(users, w.Given)
	plain, made, err := notation.Plain(read)
	if err != nil {
		return nil, Written{}, w.Place(err)
	}
	w.Given, w.Edits = plain, w.Edits.Then(made)
	read = next(read, plain)
	versions, made, err := past.Read(read)
	if err != nil {
		return nil, Written{}, w.Place(err)
	}
	w.Given, w.Edits = versions, w.Edits.Then(made)
	read = next(read, versions)
	if in == PostgresName {
		for _, write := range []func(*lex.Text) (string, edit.List){intoTable, ownSchema} {
			made := edit.List(nil)
			if w.Given, made = write(read); made != nil {
				w.Edits, read = w.Edits.Then(made), next(read, w.Given)
			}
		}
		translated, made, err := Postgres(read)
		if err != nil {
			return nil, Written{}, w.Place(err)
		}
		w.Given, w.Edits = translated, w.Edits.Then(made)
		read = next(read, translated)
	}
	if w.Edits == nil {
		return users, Written{}, nil
	}
	return read, w, nil
}

// isFunction reports whether a text makes a function, whose expressions are read by themselves.
func isFunction(text *lex.Text) bool {
	t := text.Next(0)
	for _, word := range []string{"create", "or", "replace"} {
		if t.Is(word) {
			t = text.Next(t.End())
		}
	}
	return t.IsAny("function", "macro")
}

// Written is how the user wrote a text that was made of what was read before.
func (w Written) Written(read *lex.Text, text string, made edit.List) (*lex.Text, Written, error) {
	if made == nil {
		return read, w, nil
	}
	if w.Edits == nil {
		w.Users = read.SQL
	}
	w.Given, w.Edits = text, w.Edits.Then(made)
	return next(read, text), w, nil
}

// next is a text, which may be the one that was read before.
func next(read *lex.Text, sql string) *lex.Text {
	if sql == read.SQL {
		return read
	}
	return lex.Client.Text(sql)
}

// NeedsTypes reports whether the types of what a statement names may say what it means.
func NeedsTypes(parsed *statement.Statement) bool {
	if _, is := parsed.Head.(*statement.CreateFunction); is || parsed.Constants {
		return false // its body is read as its user wrote it
	}
	return hasTypes(parsed) || mayBeVolatile(parsed.Text)
}

func hasTypes(parsed *statement.Statement) bool {
	return parsed.Tree != nil && len(parsed.Text) <= TreeMax && typing.Needed(parsed.Tree)
}

// Typed is the statement that means in DuckDB what the types say that it means in PostgreSQL, and how that was written.
func (w Written) Typed(parsed *statement.Statement, find typing.Find) (*statement.Statement, Written, error) {
	text, made := parsed.Text, edit.List(nil)
	if hasTypes(parsed) {
		var err error
		if text, made, err = typing.Translate(parsed.Text, parsed.Tree, find); err != nil {
			return parsed, w, w.Place(err)
		}
	}
	text, once, err := computeOnce(text)
	if err != nil {
		return parsed, w, err
	}
	if made = made.Then(once); made == nil {
		return parsed, w, nil
	}
	typed, err := statement.Parse(text)
	if err != nil {
		return parsed, w, err
	}
	if w.Edits == nil {
		w.Users = parsed.Text
	}
	w.Given, w.Edits = text, w.Edits.Then(made)
	return typed, w, nil
}

// Original is the text as the user wrote it that became text.
func (w Written) Original(text string) string { return cmp.Or(w.Users, text) }

// Place makes an error's position one in the user's text.
func (w Written) Place(err error) error {
	if err == nil || w.Edits == nil {
		return err
	}
	return InOriginal(err, w.Edits, w.Given, w.Users)
}
