//go:build race

package duckdb_test

// raceDetector: its shadow of the memory counts as the process' own, and everything takes several times as long.
const raceDetector = true
