// Package shmdir makes directories in shared memory for tests, and removes those that tests left which were killed.
//
//	Make ─► once in a process: those of processes that have ended are removed ─► a new one, /dev/shm/csmsql-test-…
//	For  ─► Make, and gone with the test
//
// Package owneddir knows whose a directory is.
//
// # What it does not do
//
// It is for tests: no program imports it.
package shmdir
