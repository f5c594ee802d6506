package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// stands are types that stand for those which PostgreSQL's functions take any of.
var stands = map[string]string{
	"any": "integer", "anyelement": "integer", "anynonarray": "integer", "anyarray": "integer[]", "anycompatible": "integer",
	"anycompatiblenonarray": "integer", "anycompatiblearray": "integer[]", "_text": "text[]", "_int4": "integer[]", "_int8": "bigint[]",
}

// What pg_proc shows can be called with arguments of the types that it shows, except the functions by which pg_type
// says how types are read and written: drivers look those up and do not call them.
func TestFunctionsThatAreShownCanBeCalled(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	names := map[string]string{}
	for _, row := range rows(t, s, "SELECT oid, typname FROM pg_type") {
		oid, name, _ := strings.Cut(row, "|")
		names[oid] = name
	}
	const ofTypes = "SELECT unnest(ARRAY[typsubscript, typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze]) FROM pg_type"
	shown := rows(t, s, "SELECT oid, proname, proretset, provariadic, array_to_string(proargtypes, ' ') FROM pg_proc WHERE oid NOT IN ("+ofTypes+") ORDER BY proname, oid")
	require.Greater(t, len(shown), 100)
	for _, row := range shown {
		f := strings.Split(row, "|")
		var arguments []string
		for _, oid := range strings.Fields(f[4]) {
			name := names[oid]
			if stand := stands[name]; stand != "" {
				name = stand
			}
			arguments = append(arguments, `CAST(NULL AS `+name+`)`)
		}
		if n := len(arguments); f[3] != "0" && strings.HasSuffix(arguments[n-1], "[])") {
			arguments[n-1] = strings.Replace(arguments[n-1], "[])", ")", 1)
		}
		text := `SELECT "` + f[1] + `"(` + strings.Join(arguments, ", ") + ")"
		if f[2] == "true" && f[1] != "unnest" {
			text = `SELECT * FROM "` + f[1] + `"(` + strings.Join(arguments, ", ") + ")"
		}
		if err := bind(t, s, text); err != nil {
			t.Errorf("%s: %s: %v", f[0], text, err)
		}
	}
}

func bind(t *testing.T, s *engine.Session, text string) error {
	st, err := s.Prepare(t.Context(), text)
	if err != nil {
		return err
	}
	return st.Close()
}
