package duckdb

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/csmsql/csmsql/exec/duckdb/spill"
	"github.com/csmsql/csmsql/sql/lex"
)

// Options of a Database. The zero value is a database that may use 80 % of the machine's memory and every file.
type Options struct {
	// MemoryBytes bounds what DuckDB counts of its memory; beyond it operators spill. 0: DuckDB's own choice.
	MemoryBytes int64
	// ProcessBytes bounds what C code of this process may have on this database's account, counted or not (D8):
	// MemoryBytes, and room for what DuckDB does not count. Databases of a process share the sum of theirs; what C code
	// had before the first of them was opened does not count. 0: no bound, for none of them.
	ProcessBytes int64
	// Within is the database whose account is charged for this one's memory; nil: its own.
	Within *Database
	// SpillDirectory is where operators spill to, in a directory of this database's; empty: they fail instead (SQLSTATE
	// 53200).
	SpillDirectory string
	spill          string // that directory
	// SpillBytes bounds the spill directory. 0: DuckDB's own choice.
	SpillBytes int64
	// Threads bounds the scan and operator threads. 0: one per CPU.
	Threads int
	// Files says which files SQL may read and write.
	Files FileAccess
	// JoinFilters lets DuckDB filter the rows of its own tables and files by the keys that a join has found. DuckDB 1.5
	// also does it below LIMIT, DISTINCT and GROUP BY, and gives wrong rows (duckdb#22924, #22075, #21757): so they are
	// only for measuring DuckDB as it is. Scans of chunks know no such filters.
	JoinFilters bool
	// PostgresText has text cast to bytes and to dates as PostgreSQL's clients write them (cast.c).
	PostgresText bool
}

// FileAccess says which files SQL may reach; extensions and the network are never within reach unless All is set.
type FileAccess struct {
	// All lifts every limit: for programs that embed the engine and ask only their own questions.
	All bool
	// Directories may be read and written, with everything below them.
	Directories []string
}

// Database is one in-memory DuckDB instance: all sessions of a node share it, each over its own Connection, so that
// persistent names are the same for all and temporary objects stay private to a connection (DuckDB keeps them there).
//
// Its own tables live in the attached database named by CatalogName. Safe for concurrent use.
type Database struct {
	handle bindings.Database
	number uint64 // names the database in C
	// connections: DuckDB's connection id → *Connection, so that a bind finds its session.
	connections sync.Map
	closed      atomic.Bool
	failed      chan struct{}    // closed when no statement is taken any more
	failing     sync.Once        // closes it
	allFiles    bool             // Options.Files.All
	reached     []reached        // what files.c knows of
	mayCrash    bool             // see CrashingVariable
	given       given            // of memory; has its own lock
	spill       *spill.Directory // nil: it does not spill
	types       TypesOf          // nil: there are none
	before      func(*Connection, string) error
}

// BeforeText has hear called before a text is planned; its error is the text's. Call it before others connect.
func (db *Database) BeforeText(hear func(c *Connection, sql string) error) { db.before = hear }

// CatalogName is the database that clients see, and SchemaName its default schema, as PostgreSQL users expect it.
const (
	CatalogName = "csmsql"
	SchemaName  = "public"
)

// databases: number → *Database, so that C callbacks find their Go side.
var (
	databases      sync.Map
	databaseNumber atomic.Uint64
)

// Resolver finds a table for csm_table(schema, name), which views of the shared catalog call: within the snapshot of
// the statement that the session is running.
type Resolver func(schema, name string) (*Scan, error)

// Open makes a database. Close it after its last Connection.
func Open(options Options) (_ *Database, err error) {
	var spilled *spill.Directory
	if options.SpillDirectory != "" {
		if spilled, err = spill.Make(options.SpillDirectory); err != nil {
			return nil, err
		}
		options.spill = spilled.Path
		defer func() {
			if err != nil {
				spilled.Remove()
			}
		}()
	}
	var config bindings.Config
	if bindings.CreateConfig(&config) == bindings.StateError {
		return nil, fmt.Errorf("DuckDB made no configuration")
	}
	defer bindings.DestroyConfig(&config)
	for name, value := range settings(options) {
		if bindings.SetConfig(config, name, value) == bindings.StateError {
			return nil, fmt.Errorf("DuckDB does not take the setting %s = %q", name, value)
		}
	}
	reached, err := confine(options)
	if err != nil {
		return nil, err
	}
	db := &Database{number: databaseNumber.Add(1), allFiles: options.Files.All, reached: reached, mayCrash: mayCrash(),
		failed: make(chan struct{}), spill: spilled, before: func(*Connection, string) error { return nil }}
	db.given.counted, db.given.process = options.MemoryBytes, options.account()
	var message string
	if bindings.OpenExt(":memory:", &db.handle, config, &message) == bindings.StateError {
		release(reached)
		return nil, fmt.Errorf("open DuckDB: %w", parseError(message))
	}
	databases.Store(db.number, db)
	processWarden.join(db, options.account())
	if err := db.prepareCatalog(options); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func settings(o Options) map[string]string {
	s := map[string]string{
		"autoinstall_known_extensions": "false",
		"autoload_known_extensions":    "false",
		"allow_community_extensions":   "false",
		"arrow_output_version":         "1.5", // decimals up to 18 digits leave as decimal64
		"arrow_lossless_conversion":    "true",
		"errors_as_json":               "true", // positions and kinds of errors without parsing prose
		"allocator_background_threads": "false",
	}
	if o.MemoryBytes > 0 {
		s["memory_limit"] = strconv.FormatInt(o.MemoryBytes, 10) + "B"
	}
	if o.Threads > 0 {
		s["threads"] = strconv.Itoa(o.Threads)
	}
	if !o.JoinFilters {
		s["disabled_optimizers"] = "join_filter_pushdown"
	}
	s["temp_directory"] = o.spill
	return s
}

// sessionSettings may be changed by SQL also when the configuration is locked, besides schema and search_path (USE),
// which DuckDB always allows. All are per session and none reaches a file, bounds memory or changes what this package
// relies on (errors_as_json, arrow_*). SET GLOBAL of some would change other sessions' defaults: the engine has no such
// statement.
var sessionSettings = []string{
	"TimeZone", "Calendar", "default_null_order", "default_order", "disable_timestamptz_casts",
	"ieee_floating_point_ops", "integer_division", "order_by_non_integer_literal",
	"scalar_subquery_error_on_multiple_rows", "lambda_syntax", "explain_output", "preserve_identifier_case",
	"pivot_limit", "pivot_filter_threshold", "prefer_range_joins", "merge_join_threshold",
	"nested_loop_join_threshold", "perfect_ht_threshold", "ordered_aggregate_threshold",
	"dynamic_or_filter_threshold",
}

// prepareCatalog attaches the users' database, registers the scan functions and, last, shuts the doors.
func (db *Database) prepareCatalog(options Options) error {
	c, err := db.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	c.ours = true
	statements := []string{
		"ATTACH ':memory:' AS " + CatalogName,
		"CREATE SCHEMA " + CatalogName + "." + SchemaName,
	}
	if options.SpillBytes > 0 && options.SpillDirectory != "" {
		// Not with the configuration: DuckDB 1.5 takes it there and spills as much as the disk holds.
		statements = append(statements, fmt.Sprintf("SET max_temp_directory_size = '%dB'", options.SpillBytes))
	}
	if !options.Files.All {
		if len(options.Files.Directories) > 0 {
			statements = append(statements, "SET allowed_directories = "+listLiteral(options.Files.Directories))
		}
		statements = append(statements, "SET enable_external_access = false",
			"SET allowed_configs = "+listLiteral(append([]string{memorySetting}, sessionSettings...)), "SET lock_configuration = true")
	}
	for _, sql := range statements {
		if err := c.Exec(sql); err != nil {
			return fmt.Errorf("prepare DuckDB's database: %w", err)
		}
	}
	if err := registerScans(db, c); err != nil {
		return err
	}
	if options.PostgresText {
		if err := registerCasts(c); err != nil {
			return err
		}
	}
	return errors.Join(registerRounding(c), registerDivide(c), registerClock(c), registerJSON(db, c),
		registerSequences(db, c), registerSetConfig(db, c))
}

// Close frees the database. Every Connection must be closed before.
func (db *Database) Close() {
	if !db.closed.Swap(true) {
		databases.Delete(db.number)
		db.given.close()
		bindings.Close(&db.handle)
		processWarden.leave(db)
		release(db.reached)
		db.spill.Remove()
	}
}

// listLiteral writes strings as a DuckDB list of string literals.
func listLiteral(values []string) string {
	out := "["
	for i, v := range values {
		if i > 0 {
			out += ", "
		}
		out += QuoteLiteral(v)
	}
	return out + "]"
}

// QuoteLiteral writes s as a SQL string literal.
func QuoteLiteral(s string) string { return lex.QuoteString(s) }

// QuoteIdentifier writes s as a quoted SQL identifier.
func QuoteIdentifier(s string) string { return lex.Quote(s) }
