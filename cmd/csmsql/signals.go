package main

import (
	"context"
	"errors"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// errInterrupted is why a command's context ended.
var errInterrupted = errors.New("interrupted")

// interruptible runs a command whose context ends at the first SIGINT or SIGTERM. The second one ends the process at
// once, which costs nothing but the farewell: whatever was committed is safe.
func interruptible(run func(ctx context.Context, c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		ctx, cancel := context.WithCancelCause(c.Context())
		signals := make(chan os.Signal, 2)
		done, joined := make(chan struct{}), make(chan struct{})
		signal.Notify(signals, unix.SIGINT, unix.SIGTERM)
		go func() {
			defer close(joined)
			for n := 0; ; n++ {
				select {
				case <-signals:
					if n > 0 {
						os.Exit(exitKilled)
					}
					cancel(errInterrupted)
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
