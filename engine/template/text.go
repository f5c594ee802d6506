package template

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/comment"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Text is that of a CREATE TEMP TABLE in which a column of each template stands for all of them: what is written has
// words that DuckDB alone reads. put puts them there.
func (r *Reader) Text(ctx context.Context, text string, head *statement.CreateTable) (
	out string, made edit.List, put func(string) string, err error) {
	if len(head.Likes) == 0 {
		return text, nil, func(text string) string { return text }, nil
	}
	seen := map[string]bool{}
	for _, c := range head.Columns {
		seen[strings.ToLower(c.Name)] = true
	}
	edited := edit.New(text)
	var places []string
	for i, like := range head.Likes {
		of, err := r.find(ctx, like)
		if err != nil {
			return "", nil, nil, err
		}
		list, err := definitions(of, like, seen)
		if err != nil {
			if e, ok := err.(*sqlerror.Error); ok && e.At == 0 {
				e.At = like.Of.At
			}
			return "", nil, nil, err
		}
		place := fmt.Sprintf("csm_template_%d int", i)
		edited.Replace(like.Start, like.End, place)
		places = append(places, place, list)
	}
	out, made = edited.Text()
	return out, made, strings.NewReplacer(places...).Replace, nil
}

// definitions are those of a template for DuckDB; seen are the names of columns that were there.
func definitions(of *relation, like statement.Like, seen map[string]bool) (string, error) {
	var list []string
	for _, f := range of.columns {
		if key := strings.ToLower(f.Name); seen[key] {
			return "", sqlerror.New("42701", "column %q specified more than once", f.Name)
		} else {
			seen[key] = true
		}
		text, err := columnText(of, f, like)
		if err != nil {
			return "", err
		}
		list = append(list, text)
	}
	for _, k := range of.constraints {
		text, err := promise(of, k, like)
		if err != nil {
			return "", err
		}
		if text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", "), nil
}

// refuse is the error of what a temporary table does not keep.
func refuse(what, name, part string) error {
	return sqlerror.New("0A000", "%s of a temporary table is not supported: %q", what, name).
		WithHint("Say EXCLUDING " + part + " behind the others.")
}

// columnText is the definition of a column.
func columnText(of *relation, f arrow.Field, like statement.Like) (string, error) {
	typ, err := columntype.SQL(f)
	if err != nil {
		return "", err
	}
	identity, generated := cast.Identity(f), cast.Generated(f)
	_, ofDomain := constraint.DomainOf(f)
	switch {
	case ofDomain:
		return "", sqlerror.New("0A000", "a column of a domain in a temporary table is not supported: %q", f.Name).
			WithHint("Write the columns out.")
	case identity != "" && like.Identity:
		return "", refuse("an identity column", f.Name, "IDENTITY")
	case generated != "" && like.Generated:
		return "", refuse("a generated column", f.Name, "GENERATED")
	case like.Comments && comment.OfField(f) != "":
		return "", refuse("a comment on a column", f.Name, "COMMENTS")
	}
	name := duckdb.QuoteIdentifier(f.Name)
	text := name + " " + typ
	if !f.Nullable {
		text += " NOT NULL"
	}
	if value, ok := cast.Default(f); ok && like.Defaults && identity == "" && generated == "" {
		written, _ := f.Metadata.GetValue(cast.DefaultKey)
		if calls, _ := calling.Split(written); calls != nil {
			return "", refuse("a default that calls functions", f.Name, "DEFAULTS")
		}
		if of.temporary {
			value, _ = f.Metadata.GetValue(cast.DefaultKey)
		}
		text += " DEFAULT (" + value + "\n)"
	}
	if d, ok := columntype.Of(f); ok && d.Length > 0 {
		text += fmt.Sprintf(" CHECK (length(%s) <= %d)", name, d.Length)
	}
	return text, nil
}

// expression is one of the template's in DuckDB's words.
func (of *relation) expression(text string) string {
	if of.temporary {
		return text
	}
	return dialect.Expression(text)
}

// promise is a constraint; empty: it is not taken.
func promise(of *relation, k constraint.Constraint, like statement.Like) (string, error) {
	switch {
	case k.Kind == constraint.Check && like.Constraints:
		if like.Comments && k.Comment != "" {
			return "", refuse("a comment on a constraint", k.Name, "COMMENTS")
		}
		if calls, _ := calling.Split(k.Expression); calls != nil {
			return "", refuse("a constraint that calls functions", k.Name, "CONSTRAINTS")
		}
		return "CHECK (" + of.expression(of.unqualified(k)) + "\n)", nil
	case !like.Indexes || !k.Unique() && !k.IsIndex():
		return "", nil
	case k.IsIndex():
		return "", refuse("an index", k.Name, "INDEXES")
	case k.Deferrable || k.NullsNotDistinct:
		return "", refuse("DEFERRABLE, or NULLS NOT DISTINCT,", k.Name, "INDEXES")
	case like.Comments && k.IndexComment != "":
		return "", refuse("a comment on an index", k.Name, "COMMENTS")
	}
	columns := slices.Clone(k.Columns)
	for i := range columns {
		columns[i] = duckdb.QuoteIdentifier(columns[i])
	}
	return k.Words() + " (" + strings.Join(columns, ", ") + ")", nil
}
