package unsupported

import (
	"regexp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/tree"
)

// Clause is what is not supported.
type Clause struct {
	Name   string // in capitals: FOR UPDATE
	Byte   int    // where it begins in the text; -1: unknown
	Advice string // what to do instead; empty: nothing is known
}

// InText is the clause at which DuckDB reported a syntax error, at a byte of a text that PostgreSQL's parser
// understands; not ok: there is no keyword to name it by, but that of a clause that is well known.
func InText(text string, at int) (clause Clause, ok bool) {
	scanned, err := tree.Scan(text)
	if err != nil || len(scanned.Tokens) == 0 {
		return clause, false
	}
	tokens := withoutComments(scanned.Tokens)
	from := 0
	for from < len(tokens)-1 && int(tokens[from].End) <= at {
		from++
	}
	for _, i := range []int{from, from - 1} { // DuckDB reads some as others, and stops behind them
		if i >= 0 && tokens[i].Token == pg.Token_Op {
			return Clause{Name: "operator " + spelled(text, tokens[i:i+1]), Byte: int(tokens[i].Start)}, true
		}
	}
	to := from
	for to < len(tokens) && isKeyword(tokens[to]) {
		to++
	}
	for to == from && from > 0 { // the nearest keyword before it
		if from--; !isKeyword(tokens[from]) {
			to--
		}
	}
	if from == to {
		return clause, false
	}
	for from > 0 && leads(tokens[from-1], tokens[from]) {
		from--
	}
	name := spelled(text, tokens[from:to])
	if function := enclosing(tokens[:from]); function >= 0 {
		name += " in " + spelled(text, tokens[function:function+1])
	} else if before := lastKeyword(tokens[:from]); len(name) < 3 && before >= 0 { // USING (…) AS
		name = spelled(text, tokens[before:before+1]) + " … " + name
	}
	if innocent[name] {
		return clause, false
	}
	return Clause{Name: name, Byte: int(tokens[from].Start)}, true
}

// innocent are keywords of clauses that DuckDB has: where it stops at one of them, or behind one, something else is at
// fault, which nothing here names.
var innocent = map[string]bool{
	"SELECT": true, "FROM": true, "WHERE": true, "AND": true, "OR": true, "NOT": true, "AS": true, "ON": true, "IN": true, "BY": true, "NULL": true,
	"VALUES": true, "CASE": true, "WHEN": true, "THEN": true, "ELSE": true, "END": true, "BETWEEN": true, "LIKE": true, "HAVING": true, "LIMIT": true,
	"OFFSET": true, "JOIN": true, "UNION": true, "UNION ALL": true, "ORDER BY": true, "GROUP BY": true, "INSERT INTO": true, "WITH": true, "TRUE": true, "FALSE": true,
}

// leads reports whether a keyword belongs to the next one's clause: DROP before DATABASE. Names of types and functions
// do not.
func leads(t, next *pg.ScanToken) bool {
	if next.KeywordKind == pg.KeywordKind_COL_NAME_KEYWORD {
		return t.Token == pg.Token_IS // IS JSON
	}
	return isKeyword(t) && t.KeywordKind != pg.KeywordKind_COL_NAME_KEYWORD && t.Token != pg.Token_TEXT_P
}

// lastKeyword is the index of the last keyword; -1: there is none.
func lastKeyword(tokens []*pg.ScanToken) int {
	for i := len(tokens) - 1; i >= 0; i-- {
		if isKeyword(tokens[i]) {
			return i
		}
	}
	return -1
}

// enclosing is the index of the keyword whose parentheses are open behind the tokens: JSON_ARRAY (…; -1: none is.
func enclosing(tokens []*pg.ScanToken) int {
	depth := 0
	for i := len(tokens) - 1; i > 0; i-- {
		switch tokens[i].Token {
		case pg.Token_ASCII_41:
			depth++
		case pg.Token_ASCII_40:
			if depth--; depth < 0 {
				if tokens[i-1].KeywordKind == pg.KeywordKind_COL_NAME_KEYWORD {
					return i - 1
				}
				depth = 0
			}
		}
	}
	return -1
}

func isKeyword(t *pg.ScanToken) bool { return t.KeywordKind != pg.KeywordKind_NO_KEYWORD }

func withoutComments(tokens []*pg.ScanToken) (kept []*pg.ScanToken) {
	for _, t := range tokens {
		if t.Token != pg.Token_C_COMMENT && t.Token != pg.Token_SQL_COMMENT {
			kept = append(kept, t)
		}
	}
	return kept
}

func spelled(text string, tokens []*pg.ScanToken) string {
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = strings.ToUpper(text[t.Start:t.End])
	}
	return strings.Join(words, " ")
}

type refusal struct {
	said   *regexp.Regexp
	name   func(node any) string
	advice string
}

// refusals are what DuckDB says, without a place, of nodes of its tree, and what they are in PostgreSQL's.
var refusals = []refusal{
	{regexp.MustCompile(`^SELECT locking clause is not supported`), locking, "Rows are locked by a SELECT of its own, of tables, in the same transaction."},
	{regexp.MustCompile(`^A CTE needs a SELECT`), changeInWith, "WITH … AS (INSERT …) stands before SELECT, INSERT, UPDATE and DELETE. Run the change by itself here."},
	{regexp.MustCompile(`^Unimplemented order by type`), orderUsing, "Write ASC or DESC."},
	{regexp.MustCompile(`^Expression type T_List`), symmetric, "Write x BETWEEN a AND b OR x BETWEEN b AND a, or NOT in front of both."},
	{regexp.MustCompile(`^Sample method .+ cannot be used with a discrete sample count`), sample, "Write PERCENT behind the number."},
	{regexp.MustCompile(`^Cannot drop this type yet`), dropped, ""},
	{regexp.MustCompile(`^Constraint not implemented`), constraint, "Leave it out."},
	{regexp.MustCompile(`^Expression type T_Integer`), withoutOIDs, "Leave it out: rows have no object identifiers."},
	{regexp.MustCompile(`^cannot reference a VIEW with a FOREIGN KEY`), references, "Only temporary tables can be referred to from there."},
}

// Refuses reports whether what DuckDB says is about a clause, so that InTree may know it.
func Refuses(said string) bool {
	return slices.ContainsFunc(refusals, func(r refusal) bool { return r.said.MatchString(said) })
}

// InTree is the clause of a tree about which DuckDB said something without a place.
func InTree(parsed *pg.ParseResult, said string) (clause Clause, ok bool) {
	for _, r := range refusals {
		if !r.said.MatchString(said) {
			continue
		}
		for m := range tree.All(parsed.ProtoReflect()) {
			if name := r.name(m.Interface()); name != "" && !ok {
				clause, ok = Clause{Name: name, Byte: -1, Advice: r.advice}, true
			}
		}
	}
	return clause, ok
}

// unsupportedWords matches DuckDB's messages about what it understands and does not support: it calls these, too,
// errors of syntax.
var unsupportedWords = regexp.MustCompile(`(?i)not (?:yet )?(?:supported|implemented)|unimplemented|unrecognized option|cannot use|without selection list|expected an integer argument`)

// IsSaid reports whether a message of DuckDB's parser is about what is not supported, and not about syntax.
func IsSaid(message string) bool { return unsupportedWords.MatchString(message) }
