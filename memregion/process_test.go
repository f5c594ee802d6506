package memregion_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/memregion"
)

// lenderVariable makes this test binary a lender of the spec that it holds.
const lenderVariable = "MEMREGION_TEST_LENDER"

func TestMain(m *testing.M) {
	if text := os.Getenv(lenderVariable); text != "" {
		lendUntilKilled(text)
	}
	if os.Getenv(strangerVariable) != "" {
		beStranger()
	}
	os.Exit(m.Run())
}

// lendUntilKilled lends, fills three extents, prints which, and waits for the end of its standard input, which comes
// only if the parent dies.
func lendUntilKilled(text string) {
	var spec memregion.Spec
	must(json.Unmarshal([]byte(text), &spec))
	l, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{})
	must(err)
	for seed := range byte(3) {
		r, err := l.Allocate("t", mebibyte)
		must(err)
		fill(l.Bytes(r), seed)
	}
	must(json.NewEncoder(os.Stdout).Encode(l.Extents()))
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestKilledLender: another process lends, we borrow at the same address; it is killed, the bytes stay, and the region can be adopted.
func TestKilledLender(t *testing.T) {
	for name, plan := range map[string]func(testing.TB, int64) memregion.Spec{"file": fileSpec, "shm": shmSpec} {
		t.Run(name, func(t *testing.T) {
			spec := plan(t, 16*mebibyte)
			text, err := json.Marshal(spec)
			require.NoError(t, err)
			lender := exec.Command(os.Args[0])
			lender.Env = append(os.Environ(), lenderVariable+"="+string(text))
			lender.Stderr = os.Stderr
			input, err := lender.StdinPipe()
			require.NoError(t, err)
			defer input.Close()
			output, err := lender.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, lender.Start())
			line, err := bufio.NewReader(output).ReadBytes('\n')
			require.NoError(t, err)
			var live []memregion.Owned
			require.NoError(t, json.Unmarshal(line, &live))

			v, err := memregion.Borrow(spec)
			require.NoError(t, err)
			require.Equal(t, spec.Base, v.Base(), "the same address in both processes")
			_, err = memregion.Adopt(context.Background(), spec, live, memregion.LendOptions{})
			require.ErrorIs(t, err, memregion.ErrLentElsewhere)

			require.NoError(t, lender.Process.Kill())
			require.Error(t, lender.Wait())
			for seed, o := range live {
				require.NoError(t, v.Check(o.Range))
				memory, err := v.Bytes(o.Range)
				require.NoError(t, err)
				requireFilled(t, memory, byte(seed))
			}
			require.NoError(t, v.Close())
			l, err := memregion.Adopt(context.Background(), spec, live, memregion.LendOptions{})
			require.NoError(t, err)
			defer finish(t, l)
			for seed, o := range live {
				requireFilled(t, l.Bytes(o.Range), byte(seed))
			}
		})
	}
}
