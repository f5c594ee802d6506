package layout_test

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// otherWords are what to write for words that leave a reader guessing which program, or which thing, is meant.
var otherWords = map[string]string{
	"nobody":    "the role, as in “no reader has it”, or unowned, unused, unreferenced",
	"whoever":   "the role: the caller, a reader, the holder",
	"somebody":  "the role: another session, node, transaction, process",
	"anew":      "again, or restarted, rebuilt, recreated, replanned, rewritten",
	"told":      "reported, notified, announced, logged, given",
	"credulous": "what is left out, as in skipChecksums",
	"honest":    "exact, correct",
	"spoil":     "inject a fault, corrupt, mutate, disqualify",
	"spoiled":   "faulty, corrupt, mutated, disqualified",
	"spoilt":    "corrupt, aborted, disqualified",
	"believe":   "trust, assume, verify",
	"believed":  "trusted, assumed, verified",
	"distrust":  "invalidate",
}

// sayTheRole finds them, also within a name: heldByNobody.
var sayTheRole = regexp.MustCompile(`\b(?i:(` + keysOf(otherWords, asItIs) + `))\b|` +
	`[a-z](` + keysOf(otherWords, capitalized) + `)(?:[A-Z]|\b)`)

func keysOf(m map[string]string, as func(string) string) string {
	var list []string
	for word := range m {
		list = append(list, as(word))
	}
	return strings.Join(list, "|")
}

func asItIs(word string) string      { return word }
func capitalized(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// dataWords are lines that have such a word as data: the operating system's user, a role of a test.
var dataWords = regexp.MustCompile(`"postgres", "nobody"|a user postgres nor nobody|OWNER TO somebody`)

// L6: comments, names and messages name roles.
func TestWordsNameRoles(t *testing.T) {
	looked := 0
	eachFile(t, func(path string, _ []string) {
		if strings.HasPrefix(path, "internal/layout/") || strings.HasPrefix(path, "queries/") { // TPC-H has words of its own
			return
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		require.NoError(t, err)
		if strings.HasSuffix(path, "_test.go") {
			text = []byte(withoutStrings(text)) // what tests send is data
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := sayTheRole.FindStringSubmatch(line); found != nil && !dataWords.MatchString(line) {
				word := strings.ToLower(found[1] + found[2])
				t.Errorf("%s:%d: %q: write %s", path, i+1, word, otherWords[word])
			}
		}
		looked++
	})
	require.Greater(t, looked, 1000)
}

// withoutStrings is a Go file without the contents of its strings.
func withoutStrings(text []byte) string {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	out := []byte(string(text))
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			return string(out)
		}
		if kind != token.STRING {
			continue
		}
		from := file.Offset(at)
		for i := from; i < from+len(literal) && i < len(out); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
}
