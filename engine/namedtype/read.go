package namedtype

import (
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// Reading is how the texts of a statement are read that have to do with users' types.
type Reading struct {
	View *snapshot.View
	// Own are the session's own types, which hide others.
	Own snapshot.Temporary
	// Uses are names of temporary tables and views, each with what DuckDB says of its types behind it.
	Uses []string
	// Relations finds what names in FROM mean.
	Relations typing.Find
	// Ask plans a text and returns the types of its parameters.
	Ask func(text string) ([]*enumeration.Type, error)
}

// Text writes a query whose names of types are calls, and whose labels say of which type they are. made leads back from
// it to the one that was given; nil: it is that. An error has a place in the given text.
func (r Reading) Text(in dialect.Source) (out dialect.Source, made edit.List, err error) {
	if !r.View.Contents.HasTypes() {
		return in, nil, nil
	}
	if err := r.outdated(in.Text()); err != nil {
		return in, nil, err
	}
	if in.Tree == nil {
		return r.unparsed(in)
	}
	defer func() { err = Placed(err, made, out, in) }()
	out = in
	text, made, err := typing.NameTypes(in.Text(), in.Tree, Finder(r.View, r.Own))
	if err != nil {
		return in, nil, err
	}
	if made != nil {
		if out = dialect.SourceOf(text); out.Tree == nil {
			return in, nil, nil
		}
	}
	cast, more, err := r.casts(out)
	if err != nil || cast.Tree == nil {
		return out, made, err
	}
	out, made = cast, made.Then(more)
	labels, err := typing.LabelsIn(out.Text(), out.Tree, r.Relations, UserTypes(r.View))
	if labels == nil || err != nil {
		return out, made, err
	}
	if err := r.answer(labels); err != nil {
		return out, made, err
	}
	text, more = labels.Text()
	if more == nil {
		return out, made, nil
	}
	labelled := dialect.SourceOf(text)
	if labelled.Tree == nil {
		return out, made, nil
	}
	return labelled, made.Then(more), nil
}

// outdated is an error if a text names something temporary that has a type as it was before ALTER TYPE: DuckDB would
// compare its labels as texts.
func (r Reading) outdated(text string) error {
	for i := 0; i+1 < len(r.Uses); i += 2 {
		name, of := r.Uses[i], r.Uses[i+1]
		if !names(text, name) {
			continue
		}
		for _, t := range duckdb.UsersTypes(of) {
			is, ok := r.View.Contents.TypeOf(catalog.TableID(t.Number()))
			if !ok || is.Of().SQL() != t.SQL() {
				return sqlerror.New("55000", "temporary relation %q has type %q as it was before it was altered", name,
					t.TypeName()).WithHint("Drop it, and recreate it.")
			}
		}
	}
	return nil
}

func names(text, name string) bool {
	for t := range lex.Client.Tokens(text) {
		word, ok := t.Text, t.Kind == lex.Word
		if t.Kind == lex.Quoted {
			word, ok = t.Name()
		}
		if ok && strings.EqualFold(word, name) {
			return true
		}
	}
	return false
}

func (r Reading) answer(labels *typing.Labels) error {
	asked, some := labels.Asked()
	if !some {
		return nil
	}
	types, err := r.Ask(asked)
	if err != nil {
		return err
	}
	return labels.Answer(types)
}

// askedOneByOne bounds how often DuckDB is asked of the strings of one text that it reads alone.
const askedOneByOne = 32

// unparsed is Text of a text that only DuckDB's parser reads: any string may be a label, and DuckDB says which are.
func (r Reading) unparsed(in dialect.Source) (dialect.Source, edit.List, error) {
	labels := typing.LabelsOf(in.Text(), UserTypes(r.View))
	if err := r.answer(labels); err != nil {
		return in, nil, Placed(err, nil, in, in)
	}
	if !labels.Answered() { // a string may stand where no parameter does
		for _, one := range labels.Each(askedOneByOne) {
			if err := r.answer(one); err != nil {
				return in, nil, err
			}
			labels.Take(one)
		}
	}
	text, made := labels.Text()
	if made == nil {
		return in, nil, nil
	}
	return dialect.SourceOf(text), made, nil
}

// Placed is an error about a text that was made of another one as one about that.
func Placed(err error, made edit.List, out, in dialect.Source) error {
	if err == nil || made == nil {
		return err
	}
	return dialect.InOriginal(err, made, out.Text(), in.Text())
}

// Statement is a statement whose texts name the users' types by their numbers, and how its user wrote it. Its query, if
// it is one that is kept, or all of it if whole is true, has labels that say of which type they are. Preconditions: it
// has a tree.
func (r Reading) Statement(parsed *statement.Statement, users dialect.Written, whole bool) (*statement.Statement,
	dialect.Written, error) {
	text, made, err := typing.NameTypes(parsed.Text, parsed.Tree, Finder(r.View, r.Own))
	if err != nil {
		return parsed, users, err
	}
	if err := refuseDomains(r.View.Contents, parsed.Head, text); err != nil {
		return parsed, users, err
	}
	if parsed, users, err = written(parsed, users, text, made); err != nil {
		return parsed, users, err
	}
	if query, kept := keptQuery(parsed.Head); kept {
		at := strings.LastIndex(parsed.Text, query) // what may stand behind it is no part of one
		in := dialect.SourceOf(query)
		out, made, err := r.Text(in)
		if err != nil {
			return parsed, users, dialect.WithoutPosition(err)
		}
		text := parsed.Text[:at] + out.Text() + parsed.Text[at+len(query):]
		return written(parsed, users, text, made.Shift(at))
	}
	if !whole {
		return parsed, users, nil
	}
	out, made, err := r.Text(dialect.Source{Read: parsed.Read(), Tree: parsed.Tree})
	if err != nil {
		return parsed, users, err
	}
	return written(parsed, users, out.Text(), made)
}

// declares reports whether a statement may name a domain as the type of a column.
func declares(head any) bool {
	switch head := head.(type) {
	case *statement.CreateTable:
		return !head.Temporary
	case *statement.AlterTable:
		return true
	}
	return false
}

func written(parsed *statement.Statement, users dialect.Written, text string, made edit.List) (*statement.Statement,
	dialect.Written, error) {
	if made == nil {
		return parsed, users, nil
	}
	next, err := statement.Parse(text)
	if err != nil {
		return parsed, users, err
	}
	_, users, err = users.Written(parsed.Read(), text, made)
	return next, users, err
}
