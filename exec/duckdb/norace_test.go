//go:build !race

package duckdb_test

const raceDetector = false
