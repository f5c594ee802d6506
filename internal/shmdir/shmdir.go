package shmdir

import (
	"os"
	"sync"
	"testing"

	"github.com/csmsql/csmsql/internal/owneddir"
)

// Root is where shared memory is.
const Root = "/dev/shm"

const prefix = "csmsql-test-"

// For makes a directory that is removed when the test ends.
func For(t testing.TB) string {
	t.Helper()
	directory, err := Make()
	if err != nil {
		t.Fatal("a directory in shared memory: ", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(directory); err != nil {
			t.Error("remove a directory in shared memory: ", err)
		}
	})
	return directory
}

// Make makes a directory, which its caller removes.
func Make() (string, error) {
	swept.Do(func() { _ = owneddir.Sweep(Root, prefix) }) // what cannot be removed is another user's
	return owneddir.Make(Root, prefix)
}

var swept sync.Once
