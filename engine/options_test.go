package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Options of statements have their effect, mean what is done anyway, or are errors that name them.
func TestOptionsOfStatements(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a; CREATE TEMP TABLE own AS SELECT 1 AS a")
	for sql, want := range map[string]string{
		"EXPLAIN (FORMATS text) SELECT 1":                           `42601 unrecognized EXPLAIN option "formats"`,
		"EXPLAIN (FORMAT pretty) SELECT 1":                          `22023 unrecognized value for EXPLAIN option "format": "pretty"`,
		"EXPLAIN (FORMAT JSON) SELECT 1":                            `0A000 EXPLAIN (FORMAT JSON) is not supported`,
		"EXPLAIN (FORMAT 'xml', COSTS) SELECT 1":                    `0A000 EXPLAIN (FORMAT XML) is not supported`,
		"EXPLAIN (FORMAT YAML) SELECT 1":                            `0A000 EXPLAIN (FORMAT YAML) is not supported`,
		"EXPLAIN (BUFFERS) SELECT 1":                                `0A000 EXPLAIN (BUFFERS) is not supported`,
		"EXPLAIN (COSTS off) SELECT 1":                              `0A000 EXPLAIN (COSTS off) is not supported`,
		"EXPLAIN (VERBOSE true) SELECT 1":                           `0A000 EXPLAIN (VERBOSE true) is not supported`,
		"EXPLAIN (WAL on) SELECT 1":                                 `0A000 EXPLAIN (WAL on) is not supported`,
		"EXPLAIN (TIMING off) SELECT 1":                             `0A000 EXPLAIN (TIMING off) is not supported`,
		"EXPLAIN (SUMMARY) SELECT 1":                                `0A000 EXPLAIN (SUMMARY) is not supported`,
		"EXPLAIN (SETTINGS 1) SELECT 1":                             `0A000 EXPLAIN (SETTINGS 1) is not supported`,
		"EXPLAIN VERBOSE SELECT 1":                                  `0A000 EXPLAIN VERBOSE is not supported`,
		"EXPLAIN ANALYZE VERBOSE SELECT 1":                          `0A000 EXPLAIN VERBOSE is not supported`,
		"EXPLAIN (FORMAT text, COSTS, BUFFERS off, WAL 0) SELECT 1": ``,
		"VACUUM nosuch":                                             `42P01 relation "nosuch" does not exist`,
		"VACUUM t, own":                                             ``,
		"VACUUM (FULL, VERBOSE) t":                                  ``,
		"VACUUM (FULLY) t":                                          `42601 unrecognized VACUUM option "fully"`,
		"ANALYZE (FULL) t":                                          `42601 unrecognized ANALYZE option "full"`,
		"EXPLAIN (ANALYZE maybe) SELECT 1":                          `42601 analyze requires a Boolean value`,
		"EXPLAIN (TIMING) SELECT 1":                                 `22023 EXPLAIN option TIMING requires ANALYZE`,
		"VACUUM (FULL maybe) t":                                     `42601 full requires a Boolean value`,
		"VACUUM (FULL, PARALLEL 2) t":                               `0A000 VACUUM FULL cannot be performed in parallel`,
		"VACUUM (PARALLEL 2000) t":                                  `42601 parallel option requires a value between 0 and 1024`,
		"VACUUM (FULL, DISABLE_PAGE_SKIPPING) t":                    `0A000 VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL`,
		"VACUUM (FULL, PROCESS_TOAST off) t":                        `0A000 PROCESS_TOAST required with VACUUM FULL`,
		"VACUUM t (a)":                                              `0A000 ANALYZE option must be specified when a column list is provided`,
		"SELECT concat_ws(',', VARIADIC ARRAY['x'])":                `0A000 VARIADIC is not supported`,
		"SET GLOBAL application_name = 'x'":                         `0A000 SET GLOBAL is not supported`,
		"RESET LOCAL application_name":                              `0A000 RESET LOCAL is not supported`,
		"CREATE TABLE u (a int REFERENCES t MATCH PARTIAL)":         `0A000 MATCH PARTIAL is not supported`,
		"CREATE OR REPLACE TABLE IF NOT EXISTS t (a int)":           `0A000 OR REPLACE with IF NOT EXISTS is not supported`,
		"CREATE TEMP TABLE u (a int UNIQUE WITH (fillfactor = 70))": `0A000 WITH of a key is not supported`,
		"CREATE TEMP TABLE u (a int, UNIQUE (a) DEFERRABLE)":        `0A000 DEFERRABLE in a temporary table is not supported`,
		"CREATE TEMP RECURSIVE VIEW u (a) AS SELECT 1":              `0A000 CREATE RECURSIVE VIEW is not supported`,
		"COPY t FROM '/x.parquet' (HEADER)":                         `0A000 COPY option "header" is not supported for parquet files`,
		"COPY t FROM '/x.json' (COMPRESSION gzip)":                  `0A000 COPY option "compression" is not supported for json files`,
		"COPY t TO '/x.csv' (FREEZE)":                               `0A000 COPY freeze only available using COPY FROM`,
		"COPY t TO '/x.csv' (HEADER maybe)":                         `42601 header requires a Boolean value, not "maybe"`,
		"ANALYZE t (a), nosuch":                                     `42P01 relation "nosuch" does not exist`,
		"TRUNCATE t CONTINUE IDENTITY RESTRICT":                     ``,
		"SET CONSTRAINTS a, b DEFERRED":                             `0A000 SET CONSTRAINTS of single constraints is not supported`,
		"SET CONSTRAINTS ALL IMMEDIATE":                             ``,
		"SET CONSTRAINTS ALL SOON":                                  `42601 syntax error at or near "SOON"`,
		"COPY t FROM '/x.csv' (ENCODING 'LATIN1')":                  `0A000 COPY encoding "LATIN1" is not supported`,
		"COPY t FROM '/x.csv' (FORMATS csv)":                        `42601 option "formats" not recognized`,
		"COPY t TO '/x.csv' (ENCODING 'LATIN1')":                    `0A000 COPY encoding "LATIN1" is not supported`,
		"COPY t FROM '/x.csv' WHERE a > 1":                          `0A000 COPY … WHERE is not supported`,
		"DECLARE c SCROLL CURSOR FOR SELECT 1":                      `0A000 a SCROLL cursor is not supported`,
		"DECLARE c BINARY CURSOR FOR SELECT 1":                      `0A000 a BINARY cursor is not supported`,
		"DECLARE c CURSOR WITH HOLD FOR SELECT 1":                   `0A000 a cursor WITH HOLD is not supported`,
	} {
		require.Equal(t, want, errorOf(s, sql), sql)
	}
	exec(t, s, "BEGIN")
	require.Equal(t, "25001 VACUUM cannot run inside a transaction block", errorOf(s, "VACUUM"))
	exec(t, s, "ROLLBACK; BEGIN")
	require.Equal(t, "25001 DISCARD ALL cannot run inside a transaction block", errorOf(s, "DISCARD ALL"))
}
