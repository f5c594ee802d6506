package frontend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/tree"
	"github.com/csmsql/csmsql/wire"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// The engine's planner, DuckDB, does not receive the types of a client's parameters. It assumes text where the context
// gives no type: SELECT $1 + 1 fails, x = ANY($1) too. Such a parameter gets its type in the statement's text, as
// CAST($1 AS INTEGER), and positions in errors are moved back. Where the context gives the type, the text stays as it
// is, because chunks are pruned by bare parameters.

// numericScale is how many digits a numeric parameter may have after the point where its place does not say its type:
// the engine has no decimals without a scale. More digits are an error (exactNumerics), never rounded.
const numericScale = 18

// sqlNames are the engine's names of the types that a parameter can be cast to.
var sqlNames = map[uint32]string{
	pgformat.Bool: "BOOLEAN", pgformat.Int2: "SMALLINT", pgformat.Int4: "INTEGER", pgformat.Int8: "BIGINT", pgformat.OID: "BIGINT",
	pgformat.Float4: "FLOAT", pgformat.Float8: "DOUBLE", pgformat.Text: "VARCHAR", pgformat.Varchar: "VARCHAR", pgformat.BPChar: "VARCHAR",
	pgformat.Bytea: "BLOB", pgformat.DateOID: "DATE", pgformat.Time: "TIME", pgformat.TimestampNT: "TIMESTAMP",
	pgformat.TimestampTZ: "TIMESTAMPTZ", pgformat.IntervalOID: "INTERVAL", pgformat.UUIDOID: "UUID", pgformat.JSON: "JSON",
	pgformat.NumericOID: "DECIMAL(38, 18)",
}

// sqlName is the engine's name of a type, "" if it has none.
func sqlName(oid uint32) string {
	if element, ok := pgformat.ElementOID(oid); ok && sqlName(element) != "" {
		return sqlName(element) + "[]"
	}
	return cmp.Or(sqlNames[oid], enumeration.NameOfOID(oid))
}

// plan prepares a statement. It returns the parameters' types (F2), and how the text that was prepared differs from
// sql.
func (s *session) plan(ctx context.Context, text *lex.Text, in string,
	declared []uint32) (*engine.Statement, []uint32, rewriting, error) {
	sql := text.SQL
	changed, places := rewriting{given: sql}, (*parameterPlaces)(nil)
	parameters := strings.Contains(sql, "$")
	if parameters || mayHaveNumerics(sql) {
		parsed, done, err := s.engine.Parse(ctx, text)
		if err != nil {
			return nil, nil, rewriting{}, err
		}
		defer done()
		if parsed != nil && parsed.Tree != nil && !named(parsed.Head) {
			list := numericLiterals(parsed.Tree, sql)
			if parameters {
				places = findParameters(parsed.Tree)
				list = append(list, s.withTypes(ctx, sql, in, places, declared)...)
			}
			if changed = rewrite(sql, list); changed.given != sql {
				text = lex.Client.Text(changed.given)
			}
		}
	}
	st, err := s.engine.PrepareText(ctx, text, in)
	if err != nil {
		return nil, nil, rewriting{}, changed.place(err)
	}
	oids := parameterOIDs(declared, st.Parameters())
	if places != nil {
		for number, oid := range places.types {
			if i := int(number) - 1; i >= 0 && i < len(oids) && (i >= len(declared) || declared[i] == 0 || declared[i] == pgformat.Unknown) {
				oids[i] = oid
			}
		}
	}
	return st, oids, changed, nil
}

// named reports whether a statement is PREPARE, whose parameters get their values, and so their types, from EXECUTE.
func named(head any) bool {
	_, prepare := head.(*statement.Prepare)
	return prepare
}

// withTypes puts a cast around every parameter whose type is known and not said by its place.
func (s *session) withTypes(ctx context.Context, sql, in string, places *parameterPlaces,
	declared []uint32) []replacement {
	for i, oid := range declared {
		if oid != 0 && oid != pgformat.Unknown {
			places.types[int32(i+1)] = oid
		}
	}
	var changed []replacement
	for _, p := range places.list {
		oid := places.types[p.number]
		if p.members && oid == 0 {
			oid = s.memberType(ctx, sql, in, p)
			places.note(&pg.ParamRef{Number: p.number}, oid)
		}
		if p.beside != "" && oid == 0 {
			oid = s.besideType(ctx, sql, in, p)
			places.note(&pg.ParamRef{Number: p.number}, oid)
		}
		name := sqlName(oid)
		if p.anchored || name == "" || p.offset < 0 || p.offset >= len(sql) || sql[p.offset] != '$' {
			continue
		}
		end := p.offset + 1
		for end < len(sql) && sql[end] >= '0' && sql[end] <= '9' {
			end++
		}
		changed = append(changed, replacement{p.offset, end, "CAST(" + sql[p.offset:end] + " AS " + name + ")"})
	}
	return changed
}

// exactNumerics refuses numerics that a cast to a fixed scale would round. Those that the text itself casts are the
// dialect's.
func exactNumerics(args []wire.Value, changed rewriting) error {
	if len(changed.made) == 0 {
		return nil
	}
	for i, arg := range args {
		elements := []any{arg.Data}
		if array, ok := arg.Data.(*pgformat.Array); ok {
			elements = array.Elements
		}
		for _, element := range elements {
			number, _ := element.(pgformat.Numeric)
			if _, fraction, _ := literal.Number(string(number)); len(strings.TrimRight(fraction, "0")) > numericScale {
				return &wire.Error{
					State: "22003", Message: fmt.Sprintf("parameter $%d has more than %d digits after the point", i+1, numericScale),
					Help: fmt.Sprintf("Cast it in the statement to the type that is meant, for example $%d::double precision.", i+1),
				}
			}
		}
	}
	return nil
}

// memberType finds the array type of x = ANY($1) by asking the engine for the type of $1 in x = $1.
func (s *session) memberType(ctx context.Context, sql, in string, p place) uint32 {
	from, to, ok := memberTokens(sql, p.offset)
	if !ok {
		return 0
	}
	parameter, _, _ := strings.Cut(sql[p.offset:to], ")")
	array, _ := pgformat.ArrayOID(s.probedType(ctx, sql[:from]+strings.TrimSpace(parameter)+sql[to:], in, p))
	return array
}

// besideType finds the type of $1 in a + $1 by asking the engine for that of $1 in a = $1, put where $1 stands.
func (s *session) besideType(ctx context.Context, sql, in string, p place) uint32 {
	if p.offset < 0 || p.offset >= len(sql) {
		return 0
	}
	token := "$" + strconv.Itoa(int(p.number))
	rest, ok := strings.CutPrefix(sql[p.offset:], token)
	if !ok {
		return 0
	}
	probe := sql[:p.offset] + "(CASE WHEN " + p.beside + " = " + token + " THEN " + p.beside + " END)" + rest
	return arithmeticType(s.probedType(ctx, probe, in, p))
}

// probedType is the engine's word on a parameter's type in another text, 0 if it has none.
func (s *session) probedType(ctx context.Context, sql, in string, p place) uint32 {
	probe, err := s.engine.ProbeIn(ctx, sql, in)
	if err != nil {
		return 0
	}
	defer probe.Close()
	if int(p.number) > len(probe.Parameters()) {
		return 0
	}
	return oidOf(probe.Parameters()[p.number-1])
}

// memberTokens is the range of ANY ( $1 ) around the parameter at an offset.
func memberTokens(sql string, offset int) (from, to int, ok bool) {
	scanned, err := tree.Scan(sql)
	if err != nil {
		return 0, 0, false
	}
	tokens := scanned.Tokens
	for i := 2; i+1 < len(tokens); i++ {
		if int(tokens[i].Start) == offset && tokens[i-1].Token == pg.Token_ASCII_40 && tokens[i+1].Token == pg.Token_ASCII_41 {
			return int(tokens[i-2].Start), int(tokens[i+1].End), true
		}
	}
	return 0, 0, false
}

// replacement is of a word of a statement, at an offset, by another.
type replacement struct {
	start, end int
	by         string
}

// rewriting is a client's text and the one that the engine is given. The zero value is that of a text that is given as
// it is.
type rewriting struct {
	clients, given string
	made           edit.List
}

// rewrite makes replacements, in any order.
func rewrite(sql string, list []replacement) rewriting {
	slices.SortFunc(list, func(a, b replacement) int { return a.start - b.start })
	edited := edit.New(sql)
	for _, r := range list {
		edited.Replace(r.start, r.end, r.by)
	}
	given, made := edited.Text()
	return rewriting{clients: sql, given: given, made: made}
}

// place makes an error's position one in the client's text.
func (r rewriting) place(err error) error {
	var placed interface{ Position() int }
	if len(r.made) == 0 || err == nil || !errors.As(err, &placed) || placed.Position() <= 0 {
		return err
	}
	return &moved{err, r.made.BackPosition(placed.Position(), r.given, r.clients)}
}

// moved is an error whose position is that in the client's text.
type moved struct {
	error
	position int
}

// Position is where in the client's text, in characters from 1.
func (m *moved) Position() int { return m.position }

// Unwrap gives the engine's error, with its SQLSTATE, detail and hint.
func (m *moved) Unwrap() error { return m.error }
