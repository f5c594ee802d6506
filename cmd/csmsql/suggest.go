package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csmsql/csmsql/internal/spelling"
)

// nearestFlag finds the flag of a command that is nearest to a name that it does not have, or "".
func nearestFlag(c *cobra.Command, name string) string {
	best, distance := "", spelling.Near(name)
	c.Flags().VisitAll(func(f *pflag.Flag) {
		d := spelling.Distance(name, f.Name)
		if strings.HasPrefix(f.Name, name) {
			d = 1
		}
		if d <= distance && !f.Hidden {
			best, distance = f.Name, d-1 // an equally near one that comes later does not win
		}
	})
	return best
}
