package main

import (
	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/engine"
)

// newWorker is what a node starts its workers with; no person does.
func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Run queries for the node that has started this process",
		Hidden: true,
		Args:   noArguments,
		RunE:   func(*cobra.Command, []string) error { return engine.ServeWorker() },
	}
}
