package main_test

import (
	"fmt"
	"os"

	csmsql "github.com/csmsql/csmsql/cmd/csmsql"
	"github.com/csmsql/csmsql/internal/faults"
)

// triggerVariable makes the program obey a faults.Trigger in a directory.
const triggerVariable = "CSMSQL_TEST_TRIGGER"

func obeyTrigger() error {
	directory := os.Getenv(triggerVariable)
	if directory == "" {
		return nil
	}
	trigger, err := faults.NewTrigger(directory)
	if err == nil {
		csmsql.SetFault(trigger.Hook(func(err error) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}))
	}
	return err
}
