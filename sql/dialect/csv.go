package dialect

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

var (
	csvFile     = regexp.MustCompile(`(?m)^\s*file = (.+)$`)
	csvOriginal = regexp.MustCompile(`(?m)^\s*Original Line: (.*)$`)
	CSVLine     = regexp.MustCompile(`CSV Error on Line: (\d+)`)
	// what DuckDB's long text about a bad row says once more, or of its own guesses
	csvRepeated = regexp.MustCompile(`Error when converting column "[^"]*"\.|^This type was .*|^Column .* is being converted as type .*`)
	csvColumn   = regexp.MustCompile(`(?i)(?:when converting column|Column with name:|column) "([^"]+)"`)
)

// InFile says in which file, line and column DuckDB found something wrong.
func InFile(file string, err error) error {
	d, ok := err.(*duckdb.Error)
	if !ok || d.State == "57014" || d.State == "42501" {
		return err
	}
	if e := CSVFailure(file, d); e != nil {
		return e.WithHint("Nothing was loaded.")
	}
	text := d.Message + "\n" + d.HintText
	where := file
	if m := csvColumn.FindStringSubmatch(text); m != nil {
		where += fmt.Sprintf(", column %q", m[1])
	}
	return &sqlerror.Error{State: fileState(d, text), Message: where + ": " + strings.TrimSpace(csvMessage(text)), Cause: err, HintText: "Nothing was loaded."}
}

// CSVFailure is what DuckDB says of a bad row of a CSV file, in few words: the file, the line and the column, what is
// wrong, and the line itself; nil: it is about something else. DuckDB knows the file if the caller does not, and
// advises on options that were not given.
func CSVFailure(file string, d *duckdb.Error) *sqlerror.Error {
	text := d.Message + "\n" + d.HintText
	line := CSVLine.FindStringSubmatch(text)
	if line == nil {
		return nil
	}
	if m := csvFile.FindStringSubmatch(text); m != nil && file == "" {
		file = strings.TrimSpace(m[1])
	}
	where := file + ", line " + line[1]
	if m := csvColumn.FindStringSubmatch(text); m != nil {
		where += fmt.Sprintf(", column %q", m[1])
	}
	e := &sqlerror.Error{State: fileState(d, text), Cause: d}
	if m := csvOriginal.FindStringSubmatch(text); m != nil {
		e.DetailText = "The line is: " + Shortened(m[1])
		text = strings.Replace(text, m[0], "", 1)
	}
	e.Message = where + ": " + strings.TrimSpace(csvMessage(text))
	return e
}

// fileState: what DuckDB calls invalid input is a file that is not what it says it is.
func fileState(d *duckdb.Error, text string) string {
	switch {
	case strings.Contains(text, "not utf-8"):
		return "22021"
	case d.State == "XX000" || d.State == "42P10" || d.State == "22023":
		return "22P04"
	}
	return d.State
}

// csvMessage is the heart of DuckDB's long text about a bad row.
func csvMessage(text string) string {
	var kept []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(strings.ToLower(line), "possible ") || strings.HasPrefix(line, "file =") {
			break
		}
		if strings.HasPrefix(line, "* ") { // advice on options that were not given
			continue
		}
		if line = strings.TrimSpace(csvRepeated.ReplaceAllString(line, "")); line != "" && !CSVLine.MatchString(line) {
			kept = append(kept, line)
		}
	}
	message := PostgresWords(strings.Join(kept, "; "))
	if noParquet.MatchString(message) {
		return "this is no Parquet file"
	}
	return message
}

// noParquet matches DuckDB's message about a file that does not end as a Parquet file.
var noParquet = regexp.MustCompile(`^No magic bytes found at end of file|too small to be a Parquet file`)

// Shortened is a value as an error shows it.
func Shortened(value string) string {
	if letters := []rune(value); len(letters) > 100 {
		return string(letters[:100]) + "..."
	}
	return value
}
