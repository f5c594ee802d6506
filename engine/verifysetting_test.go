package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
)

// firstRow is for the Arrow kernels what summed is for DuckDB.
const firstRow, rightFirst, wrongFirst = "SELECT a FROM bad LIMIT 1", "0", "4"

// verifying opens a node that lies in coherent memory.
func verifying(t *testing.T, v engine.Verification) *engine.Engine {
	e, err := engine.Open(context.Background(), engine.Config{
		Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 64 << 20, Node: "alone", Fabric: memregion.FabricShm, Verify: v,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// A session may have more compared than its node does.
func TestVerificationOfASession(t *testing.T) {
	t.Parallel()
	const always, first = "SET csm.verify = 'always'", "SET csm.verify = first"
	type change struct {
		before, after string // what the session says before the bit is flipped, and after it
		read, found   bool   // it reads before; the damage is found
	}
	for node, changes := range map[engine.Verification][]change{
		engine.VerifyOff: {
			{"", "", true, false},
			{"", always, true, true},
			{"", first, true, true}, // it was not compared, although it was read
			{"", "SET csm.verify = auto", false, false},
			{always, "", true, true},
			{always, "RESET csm.verify", true, false},
			{always, "SET csm.verify = off", true, false},
			{always, "DISCARD ALL", true, false},
			{first, "", true, false}, // it was compared
		},
		engine.VerifyDefault: {
			{first, "", false, true},
			{first, first, true, false},
			{always, "SET csm.verify TO DEFAULT", true, false},
			{"BEGIN; SET LOCAL csm.verify = always", "", true, true},
			{"BEGIN; SET LOCAL csm.verify = always", "COMMIT", true, false},
			{"BEGIN; " + always, "ROLLBACK", true, false},
			{"BEGIN; SAVEPOINT a; " + always, "ROLLBACK TO a", true, false},
		},
		engine.VerifyFirst:  {{"", always, true, true}, {always, "RESET ALL", true, false}},
		engine.VerifyAlways: {{always, "RESET csm.verify", true, true}},
	} {
		e := verifying(t, node)
		for _, c := range changes {
			for _, backend := range []string{"duckdb", "compute"} {
				whole := t // once the map of the memory that was altered is closed, the alteration is noticed
				t.Run(strings.Join([]string{"node " + string(node), c.before, c.after, backend}, ", "), func(t *testing.T) {
					s := session(t, e)
					exec(t, s, "CREATE OR REPLACE TABLE bad AS SELECT range AS a FROM range(1000)")
					query, right, wrong := summed, rightSum, wrongSum
					if backend == "compute" {
						query, right, wrong = firstRow, rightFirst, wrongFirst
					}
					if c.before != "" {
						exec(t, s, c.before)
					}
					if c.read {
						require.Equal(t, []string{right}, rows(t, s, query))
					}
					flipUnseen(whole, session(t, e), e.RegionSpec(), "bad")
					if c.after != "" {
						exec(t, s, c.after)
					}
					exec(t, s, "SET csm.backend = "+backend)
					found, err := tryRows(s, query)
					if !c.found {
						require.NoError(t, err)
						require.Equal(t, []string{wrong}, found)
						return
					}
					require.Equal(t, "XX001", sqlState(err), "%v", err)
					require.ErrorContains(t, err, "chunk 0 of table public.bad on node alone is damaged")
					require.Empty(t, found)
				})
			}
		}
	}
}

// What a statement's plan has read was compared as the session wanted it then.
func TestVerificationOfPreparedStatements(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e := verifying(t, engine.VerifyOff)
	s := session(t, e)
	exec(t, s, "CREATE TABLE bad AS SELECT range AS a FROM range(1000)")
	for _, query := range []string{summed, firstRow} {
		st, err := s.Prepare(ctx, query)
		require.NoError(t, err)
		defer st.Close()
		fetch := func() error {
			rows, err := st.Execute(ctx, nil)
			if err != nil {
				return err
			}
			defer rows.Close()
			batch, err := rows.Next(ctx)
			if err == nil {
				batch.Release()
			}
			return err
		}
		require.NoError(t, fetch())
		flipUnseen(t, session(t, e), e.RegionSpec(), "bad")
		require.NoError(t, fetch())
		exec(t, s, "SET csm.verify = always")
		require.Equal(t, "XX001", sqlState(fetch()))
		flipUnseen(t, session(t, e), e.RegionSpec(), "bad") // as it was
		require.NoError(t, fetch())
		exec(t, s, "RESET csm.verify")
	}
}

// Damaged rows that a session copies would get right checksums. So its verification is no laxer than its node's.
func TestVerificationOfASessionIsNotLaxer(t *testing.T) {
	t.Parallel()
	order := []string{"off", "auto", "first", "always"}
	for own, node := range []engine.Verification{engine.VerifyOff, engine.VerifyDefault, engine.VerifyFirst, engine.VerifyAlways} {
		s := session(t, verifying(t, node))
		require.Equal(t, []string{order[own]}, rows(t, s, "SHOW csm.verify"))
		for wanted, value := range order {
			_, err := s.Exec(context.Background(), "SET csm.verify = '"+value+"'")
			if wanted >= own {
				require.NoError(t, err)
				require.Equal(t, []string{value}, rows(t, s, "SHOW csm.verify"))
				require.Equal(t, []string{value}, rows(t, s, "SELECT setting FROM pg_settings WHERE name = 'csm.verify'"))
				continue
			}
			require.Equal(t, "22023", sqlState(err), "%v", err)
			require.ErrorContains(t, err, "invalid value for parameter \"csm.verify\": \""+value+"\"")
			require.Contains(t, err.(*engine.Error).HintText, "\""+order[own]+"\"")
		}
		for _, value := range []string{"often", "", "default"} {
			_, err := s.Exec(context.Background(), "SET csm.verify = '"+value+"'")
			require.Equal(t, "22023", sqlState(err), "%q: %v", value, err)
		}
		require.Equal(t, []string{"always"}, rows(t, s, "SHOW csm.verify"))
		exec(t, s, "RESET csm.verify")
		require.Equal(t, []string{order[own]}, rows(t, s, "SHOW csm.verify"))
	}
}

// The parts of a statement that other nodes run are read as its session wants it; and not less carefully than those nodes read for themselves.
func TestVerificationTravels(t *testing.T) {
	t.Parallel()
	verify := []engine.Verification{engine.VerifyOff, engine.VerifyOff, engine.VerifyAlways}
	c := startCluster(&cluster{t: t, change: func(i int, config *engine.Config) {
		config.Fabric, config.Verify = memregion.FabricShm, verify[i]
	}}, len(verify))
	s := c.session(0)
	exec(t, s, "SET csm.distribute = always")
	sum := func(table string) ([]string, error) { return tryRows(s, "SELECT sum(a)::VARCHAR FROM "+table) }
	for i, table := range []string{"here", "there", "careful"} {
		exec(t, s, "CREATE TABLE "+table+" WITH (placement = 'node(n"+string(rune('0'+i))+")') AS SELECT range AS a FROM range(1000)")
		found, err := sum(table)
		require.NoError(t, err)
		require.Equal(t, []string{"499500"}, found)
		flipUnseen(t, c.session(0), c.nodes[i].RegionSpec(), table)
	}
	found, err := sum("there")
	require.NoError(t, err)
	require.Equal(t, []string{"499504"}, found)
	_, err = sum("careful")
	require.Equal(t, "XX001", sqlState(err), "%v", err)
	for range 2 { // the fragment's plan is kept, and its session is used again
		exec(t, s, "SET csm.verify = always")
		_, err = sum("there")
		require.Equal(t, "XX001", sqlState(err), "%v", err)
		exec(t, s, "RESET csm.verify")
		found, err = sum("there")
		require.NoError(t, err)
		require.Equal(t, []string{"499504"}, found)
	}
}
