package enginetest

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// marked is a savepoint of the model: what names meant there.
type marked struct {
	name string
	own  naming
}

// Against a model, a stack of what the names meant: nested savepoints of few names, statements of all kinds, errors of both kinds (what
// is refused, what fails while it runs), and another session that never sees anything of it.
func TestSavepointsModel(t *testing.T) {
	e := openEngine(t)
	s, other := openSession(t, e), openSession(t, e)
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		schema := fmt.Sprintf("s%d", round)
		s.must(t, "CREATE SCHEMA "+schema)
		shared, value := naming{}, round*1000
		for range rapid.IntRange(1, 2).Draw(r, "blocks") {
			own, stack := maps.Clone(shared), []marked{}
			s.must(t, "BEGIN")
			failed := false
			for range rapid.IntRange(1, 12).Draw(r, "steps") {
				name := rapid.SampledFrom([]string{"a", "b"}).Draw(r, "savepoint")
				at := -1
				for i, m := range stack {
					if m.name == name {
						at = i // the youngest
					}
				}
				step := rapid.IntRange(0, 7).Draw(r, "step")
				switch {
				case step == 0 && at >= 0 || failed && at >= 0:
					require.Equal(t, "ROLLBACK", s.must(t, "ROLLBACK TO "+name).Tag)
					own, stack, failed = maps.Clone(stack[at].own), stack[:at+1], false
				case step == 0 || failed && step < 3:
					require.Equal(t, "3B001", s.exec("ROLLBACK TO "+name).state)
					failed = true
				case failed:
					s.fails(t, "25P02", "SELECT 1")
				case step == 1 && at >= 0:
					s.must(t, "RELEASE "+name)
					stack = stack[:at]
				case step == 2:
					error := rapid.SampledFrom([]string{"SELECT * FROM nowhere", "SELECT CAST('x' || i AS INTEGER) FROM range(3) AS g(i)", "RELEASE nothing"}).Draw(r, "error")
					require.NotEmpty(t, s.exec(error).state)
					failed = true
				case step <= 4:
					s.must(t, "SAVEPOINT "+name)
					stack = append(stack, marked{name, maps.Clone(own)})
				default:
					value++
					own.change(t, r, s, schema, value)
				}
				require.Equal(t, failed, s.session.Status() == 'E')
				if !failed {
					own.holdsAll(t, s, schema)
				}
				if rapid.IntRange(0, 4).Draw(r, "others") == 0 {
					shared.holdsAll(t, other, schema)
				}
			}
			if rapid.Bool().Draw(r, "commit") {
				s.must(t, "COMMIT")
				if !failed {
					shared = own
				}
			} else {
				s.must(t, "ROLLBACK")
			}
			shared.holdsAll(t, s, schema)
			shared.holdsAll(t, other, schema)
		}
		s.must(t, "DROP SCHEMA "+schema+" CASCADE")
	})
}

// holdsAll compares every name that there is: one that is not there would end the block.
func (n naming) holdsAll(t *testing.T, who *lent, schema string) {
	t.Helper()
	for name := range n {
		n.holds(t, who, schema, name)
	}
	require.Equal(t, []string{fmt.Sprint(len(n))}, who.ask(t, "SELECT count(*) AS n FROM pg_class JOIN pg_namespace s ON s.oid = relnamespace WHERE nspname = '"+schema+"'"))
}
