package bench

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if handled, err := Child(os.Args[1:]); handled {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
