package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/engine"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which version this is",
		Long:    "Say which version this is: the product's, the commit it was built from, Go's and the platform.",
		Example: "  csmsql version",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "csmsql %s%s, %s, %s/%s\n", engine.Version, commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// commit is what the Go tool recorded of the working copy, if anything.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	text := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			text = " (commit " + s.Value[:12] + ")"
		case s.Key == "vcs.modified" && s.Value == "true" && text != "":
			text = text[:len(text)-1] + ", modified)"
		}
	}
	return text
}
