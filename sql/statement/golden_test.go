package statement_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// TestHeads holds Parse to the statements in testdata/heads. Commands: each parses every line of its input as one
// statement, whole parses all of the input as one, split prints Split's pieces.
func TestHeads(t *testing.T) {
	datadriven.Walk(t, "testdata/heads", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "each":
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					line = strings.TrimSuffix(line, "\n")
					fmt.Fprintf(&out, "%s\n    %s\n", line, describe(line))
				}
				return out.String()
			case "whole":
				return describe(d.Input) + "\n"
			case "split":
				var out strings.Builder
				for i, piece := range split(d.Input) {
					fmt.Fprintf(&out, "%d: %q\n", i, piece)
				}
				return out.String()
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

// describe prints a statement's head, and PostgreSQL's objection where there is one.
func describe(sql string) string {
	s, err := statement.Parse(sql)
	if err != nil {
		return describeError(err)
	}
	out := value(reflect.ValueOf(s.Head).Elem(), true)
	if s.Syntax != nil {
		out += "  [not PostgreSQL]"
	}
	return out
}

func describeError(err error) string {
	var e *sqlerror.Error
	if !errors.As(err, &e) {
		return "UNCLASSIFIED " + err.Error()
	}
	out := e.State + " " + e.Message
	if e.At > 0 {
		out += fmt.Sprintf(" @%d", e.At)
	}
	if e.HintText != "" {
		out += " (" + e.HintText + ")"
	}
	return out
}

// value prints what is not zero.
func value(v reflect.Value, top bool) string {
	switch v.Kind() {
	case reflect.Struct:
		if n, ok := v.Interface().(statement.Name); ok {
			return fmt.Sprintf("%q@%d", n.String(), n.At)
		}
		var fields []string
		for i := range v.NumField() {
			if f := v.Field(i); v.Type().Field(i).IsExported() && !f.IsZero() {
				fields = append(fields, v.Type().Field(i).Name+": "+value(f, false))
			}
		}
		out := "{" + strings.Join(fields, ", ") + "}"
		if top {
			out = v.Type().Name() + out
		}
		return out
	case reflect.Pointer:
		return value(v.Elem(), false)
	case reflect.Slice:
		var items []string
		for i := range v.Len() {
			items = append(items, value(v.Index(i), false))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	default:
		return fmt.Sprint(v.Interface())
	}
}
