package abusetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Attackers are a process of their own, this binary again: in the customer's process they would delay the customer, and
// not the node.

// orderVariable is the environment variable that holds its order.
const orderVariable = "CSMSQL_TEST_ATTACKERS"

// order is what attackers are to do until their standard input ends, or For is over.
type order struct {
	Address string
	Seed    uint64
	For     time.Duration
	Only    []string // attacks by name; nil: all
	Busy    int      // so many loops that do nothing but use a processor, and no attacks
}

// outcome is what they were answered.
type outcome struct {
	Tallies  map[string]map[string]int // SQLSTATEs by attack
	Wrong    []string                  // refusals that are none
	Failures []string                  // what should not happen to any client
}

// attackers is the process.
type attackers struct {
	command *exec.Cmd
	input   io.Closer
	output  bytes.Buffer
	begun   time.Time
}

func (n *node) attackers(order order) *attackers {
	order.Address = n.address
	text, err := json.Marshal(order)
	require.NoError(n.t, err)
	a := &attackers{command: exec.Command(os.Args[0]), begun: time.Now()}
	a.command.Env = append(os.Environ(), orderVariable+"="+string(text))
	a.command.Stdout, a.command.Stderr = &a.output, os.Stderr
	input, err := a.command.StdinPipe()
	require.NoError(n.t, err)
	a.input = input
	require.NoError(n.t, a.command.Start())
	return a
}

// end stops them, and returns how many processors they used.
func (a *attackers) end(t testing.TB) (out outcome, processors float64) {
	a.input.Close()
	require.NoError(t, a.command.Wait(), a.output.String())
	require.NoError(t, json.Unmarshal(a.output.Bytes(), &out), a.output.String())
	p := a.command.ProcessState
	return out, (p.UserTime() + p.SystemTime()).Seconds() / time.Since(a.begun).Seconds()
}

// attend is the attackers' process.
func attend(text string) {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.For)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	out := outcome{Tallies: map[string]map[string]int{}}
	if o.Busy > 0 {
		spin(ctx, o.Busy)
	} else {
		out = abuse(ctx, o)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}

func spin(ctx context.Context, loops int) {
	var group sync.WaitGroup
	for range loops {
		group.Go(func() {
			for sum := uint64(1); ctx.Err() == nil; {
				for range 1 << 16 {
					sum = sum*6364136223846793005 + 1442695040888963407
				}
				if sum == 0 {
					return // which keeps the loop
				}
			}
		})
	}
	group.Wait()
}

// abuse plays attacks, again and again, until ctx ends.
func abuse(ctx context.Context, o order) outcome {
	const clients = 5 // of each attack: 18 attacks, and 90 sessions
	out := outcome{Tallies: map[string]map[string]int{}}
	tallies := make([]*tally, len(attacks))
	var group sync.WaitGroup
	var mu sync.Mutex
	for i, a := range attacks {
		if tallies[i] = newTally(); o.Only != nil && !slices.Contains(o.Only, a.name) {
			continue
		}
		group.Go(func() {
			random := rand.New(rand.NewPCG(o.Seed, uint64(i)))
			for round := 0; ctx.Err() == nil; round++ {
				attacker := attacker{
					size: size{clients, max(1, a.small.times/2+random.IntN(a.small.times))}, number: 1 + i, tally: tallies[i],
					hold: time.Duration(random.Int64N(int64(2 * time.Second))), longest: 7_000_000,
				}
				if a.full.clients == 1 {
					attacker.clients = 1
				}
				if err := a.play(ctx, &target{o.Address}, attacker); err != nil && ctx.Err() == nil {
					mu.Lock()
					out.Failures = append(out.Failures, fmt.Sprintf("%s, round %d: %v", a.name, round, err))
					mu.Unlock()
					return
				}
			}
		})
	}
	group.Wait()
	for i, a := range attacks {
		out.Tallies[a.name] = tallies[i].states
		for _, wrong := range tallies[i].wrong() {
			out.Wrong = append(out.Wrong, a.name+": "+wrong)
		}
	}
	return out
}
