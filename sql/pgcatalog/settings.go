package pgcatalog

import (
	"strings"

	"github.com/csmsql/csmsql/sql/pgcatalog/copytext"
	"github.com/csmsql/csmsql/sql/setting"
)

// settingsRows are the rows of pg_settings, as far as they are the same in every session.
func settingsRows() *copytext.Table {
	t := &copytext.Table{Columns: []string{
		"name", "setting", "unit", "category", "short_desc", "extra_desc", "context", "vartype", "min_val", "max_val", "enumvals",
	}}
	for _, s := range setting.All() {
		if s.Hidden {
			continue
		}
		words := ""
		if s.Words != nil {
			words = "{" + strings.Join(s.Words, ",") + "}"
		}
		value := s.Default
		row := []*string{&s.Name, &value}
		for _, text := range []string{s.Unit, s.Category, s.Short, s.Extra, s.Context, string(s.Kind), s.Min, s.Max, words} {
			if text == "" {
				row = append(row, nil)
			} else {
				row = append(row, &text)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// shownSettings are what SHOW says of all settings in a session that has set none.
func shownSettings() *copytext.Table {
	t := &copytext.Table{Columns: []string{"name", "shown"}}
	for _, s := range setting.All() {
		name, shown := strings.ToLower(s.Name), s.Show(s.Default)
		t.Rows = append(t.Rows, []*string{&name, &shown})
	}
	return t
}
