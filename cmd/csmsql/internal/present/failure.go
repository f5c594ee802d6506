package present

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/conversation"
)

// lineRunes is how much of a long line is shown around an error's position.
const lineRunes = 120

// Failure writes an error as psql does, with the place in the statement.
func Failure(out io.Writer, sql string, err error) {
	var f *conversation.Failure
	if !errors.As(err, &f) {
		fmt.Fprintf(out, "ERROR:  %v\n", err)
		return
	}
	severity := f.Severity
	if severity == "" {
		severity = "ERROR"
	}
	fmt.Fprintf(out, "%s:  %s\n", severity, clean(f.Message))
	io.WriteString(out, pointer(sql, f.At))
	if f.DetailText != "" {
		fmt.Fprintf(out, "DETAIL:  %s\n", clean(f.DetailText))
	}
	if f.HintText != "" {
		fmt.Fprintf(out, "HINT:  %s\n", clean(f.HintText))
	}
	if f.ContextText != "" {
		fmt.Fprintf(out, "CONTEXT:  %s\n", clean(f.ContextText))
	}
}

// Notice writes a remark of a statement.
func Notice(out io.Writer, n conversation.Notice) {
	fmt.Fprintf(out, "%s:  %s\n", n.Severity, clean(n.Message))
	if n.Detail != "" {
		fmt.Fprintf(out, "DETAIL:  %s\n", clean(n.Detail))
	}
	if n.Hint != "" {
		fmt.Fprintf(out, "HINT:  %s\n", clean(n.Hint))
	}
}

// pointer shows the line of a position (in characters from 1) with a caret under it; nothing if there is none.
func pointer(sql string, position int) string {
	runes := []rune(sql)
	if position < 1 || position > len(runes)+1 {
		return ""
	}
	at := position - 1
	start, number := 0, 1
	for i, r := range runes[:at] {
		if r == '\n' {
			start, number = i+1, number+1
		}
	}
	end := at
	for end < len(runes) && runes[end] != '\n' {
		end++
	}
	prefix := fmt.Sprintf("LINE %d: ", number)
	if at-start > lineRunes/2 {
		start = at - lineRunes/2
		prefix += "..."
	}
	suffix := ""
	if end-start > lineRunes {
		end, suffix = start+lineRunes, "..."
	}
	flat := strings.NewReplacer("\t", " ", "\r", " ")
	before := flat.Replace(string(runes[start:at]))
	line := prefix + before + flat.Replace(string(runes[at:end])) + suffix
	return clean(line) + "\n" + strings.Repeat(" ", runewidth.StringWidth(clean(prefix+before))) + "^\n"
}
