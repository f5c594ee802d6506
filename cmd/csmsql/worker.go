package main

import (
	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/engine"
)

// newWorker makes the command by which a node starts its workers. It is not for users.
func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Run queries for the node that has started this process",
		Hidden: true,
		Args:   noArguments,
		RunE:   func(*cobra.Command, []string) error { return engine.ServeWorker() },
	}
}
