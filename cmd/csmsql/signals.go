package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// errInterrupted is why a command's context ended.
var errInterrupted = errors.New("interrupted")

// sameSignal is how long after the first signal further ones count as the same: a terminal sends SIGINT to a process
// and to its supervisor, which then sends one of its own.
const sameSignal = time.Second

// interruptible runs a command whose context ends at the first SIGINT or SIGTERM. A second one ends the process at
// once, which only skips the orderly end: whatever was committed is safe.
func interruptible(run func(ctx context.Context, c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		ctx, cancel := context.WithCancelCause(c.Context())
		signals := make(chan os.Signal, 2)
		done, joined := make(chan struct{}), make(chan struct{})
		signal.Notify(signals, unix.SIGINT, unix.SIGTERM)
		go func() {
			defer close(joined)
			var first time.Time
			for {
				select {
				case <-signals:
					switch {
					case first.IsZero():
						first = time.Now()
						cancel(errInterrupted)
					case time.Since(first) > sameSignal:
						os.Exit(exitKilled)
					}
				case <-done:
					return
				}
			}
		}()
		defer func() {
			signal.Stop(signals)
			close(done)
			<-joined
			cancel(nil)
		}()
		return run(ctx, c, args)
	}
}
