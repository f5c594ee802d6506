package layout_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/csmsql/csmsql/"

// everywhere may be imported by any package: they know none of ours, and cost nothing in production.
var everywhere = []string{"internal/bytesize", "internal/invariants", "internal/faults", "internal/spelling", "internal/concatenation", "internal/counted", "internal/tally", "internal/filelock", "internal/idlethreads", "internal/mark", "internal/persistent", "internal/signal", "internal/enumeration", "sql/lex", "sql/edit", "sql/tree", "sql/sqlerror"}

// allowed says which of our own packages a folder and those below it may import (beside themselves and
// everywhere). The longest entry that matches a package counts.
var allowed = map[string][]string{
	"sql/edit":             {},
	"sql/lex":              {},
	"sql/sqlerror":         {},
	"sql/tree":             {},
	"sql/bind":             {},
	"sql/notation":         {},
	"sql/bulk":             {},
	"sql/statement":        {"sql/bulk", "sql/notation"},
	"sql/deparse":          {},
	"sql/pgcatalog":        {"sql/deparse", "sql/bind", "sql/literal", "sql/setting", "sql/optimization"},
	"sql/typing":           {"sql/bind", "sql/literal", "sql/pgcatalog"},
	"sql/setting":          {"sql/optimization"},
	"sql/optimization":     {},
	"sql/past":             {},
	"sql/literal":          {},
	"sql/unsupported":      {},
	"sql/inline":           {"sql/bind", "sql/dialect", "sql/pgcatalog"},
	"sql/dialect":          {"sql/bulk", "sql/notation", "sql/statement", "sql/pgcatalog", "sql/typing", "sql/literal", "sql/unsupported", "exec/duckdb", "exec/plan", "sql/past"},
	"memregion":            {},
	"coherence":            {"memregion"},
	"catalog":              {"coherence", "memregion"},
	"exec/plan":            {"sql/bind"},
	"exec/compute":         {"exec/plan"},
	"exec/duckdb":          {"wire/pgformat"},
	"queries":              {},
	"cluster/certificate":  {},
	"cluster/etcd":         {"catalog/store"},
	"cluster/noderpc":      {"cluster/certificate", "catalog", "coherence", "memregion"},
	"engine/account":       {},
	"engine/custody":       {"catalog", "coherence", "memregion"},
	"engine/fabric":        {"coherence", "memregion"},
	"engine/reader":        {"engine/fabric", "catalog", "coherence", "exec/duckdb", "memregion"},
	"engine/facts":         {"engine/account", "engine/reader", "sql/optimization", "catalog", "exec/duckdb/normal", "exec/plan", "memregion"},
	"engine/member":        {"engine/custody", "engine/fabric", "engine/placement", "engine/reader", "catalog", "cluster", "coherence", "memregion"},
	"engine/compaction":    {"catalog"},
	"engine/follow":        {"engine/account", "engine/snapshot", "catalog", "sql/statement"},
	"engine/upkeep":        {"engine/columntype", "engine/compaction", "engine/constraint", "engine/custody", "engine/facts", "engine/ingest", "engine/lineage", "engine/member", "engine/order", "engine/placement", "engine/reader", "catalog", "cluster/noderpc", "exec/duckdb", "memregion", "queries/dbgen", "sql/statement"},
	"engine/conform":       {"catalog"},
	"engine/cast":          {"engine/calling", "engine/columntype", "engine/ingest", "catalog/descriptor", "exec/duckdb", "sql/dialect", "sql/literal", "sql/statement"},
	"engine/constantrows":  {"engine/cast", "engine/columntype", "engine/ingest", "engine/sequence", "exec/duckdb", "sql/statement"},
	"engine/delta":         {"engine/constantrows", "engine/ingest", "engine/lookup", "engine/placement", "catalog"},
	"engine/gathering":     {"engine/constantrows", "engine/delta", "engine/snapshot", "engine/upkeep", "catalog", "cluster/noderpc"},
	"engine/collector":     {"engine/constantrows", "engine/delta", "engine/gathering", "engine/member", "engine/snapshot", "engine/upkeep", "catalog", "cluster/noderpc"},
	"engine/files":         {"engine/cast", "engine/columntype", "engine/compressed", "engine/conform", "engine/ingest", "engine/ipcframe", "engine/textblock", "catalog", "cluster/noderpc", "exec/duckdb", "sql/dialect", "sql/literal", "sql/statement"},
	"engine/textblock":     {"engine/columntype", "exec/duckdb", "sql/dialect", "sql/literal"},
	"engine/load":          {"engine/materialized", "engine/cast", "engine/columntype", "engine/check", "engine/conform", "engine/custody", "engine/files", "engine/ingest", "engine/lineage", "engine/member", "engine/reference", "engine/upkeep", "catalog", "cluster/noderpc", "exec/duckdb", "queries/dbgen", "sql/dialect"},
	"engine/assembly":      {"engine/materialized", "engine/cast", "engine/check", "engine/columntype", "engine/custody", "engine/ingest", "engine/lifetime", "engine/member", "engine/placement", "engine/reference", "engine/upkeep", "catalog", "exec/duckdb"},
	"engine/borrower":      {"engine/fabric", "engine/lease", "engine/lifetime", "engine/member", "engine/reader", "catalog", "cluster", "coherence", "memregion"},
	"engine/service":       {"engine/collector", "engine/compaction", "engine/facts", "engine/follow", "engine/lifetime", "engine/member", "engine/reader", "engine/upkeep", "catalog", "cluster", "coherence", "exec/duckdb", "engine/overdue", "engine/worker"},
	"engine/scan":          {"engine/materialized", "engine/facts", "engine/filter", "engine/order", "engine/reader", "sql/optimization", "catalog", "exec/duckdb", "exec/plan"},
	"engine/names":         {"catalog", "exec/duckdb", "sql/bind", "sql/dialect", "sql/pgcatalog", "sql/past"},
	"engine/budget":        {"engine/account", "engine/conform", "engine/ingest", "exec/duckdb", "memregion"},
	"engine/relation":      {"engine/calling", "engine/materialized", "engine/cast", "engine/columntype", "engine/comment", "engine/constraint", "engine/function", "engine/ingest", "engine/sequence", "engine/snapshot", "catalog", "exec/duckdb", "sql/dialect", "sql/lex", "sql/pgcatalog", "sql/statement", "sql/typing", "engine/former", "sql/past"},
	"engine/history":       {},
	"engine/zone":          {"exec/duckdb"},
	"engine/order":         {"engine/reader", "catalog", "exec/plan"},
	"engine/zonemap":       {"engine/account", "engine/reader", "catalog", "exec/plan"},
	"engine/lookup":        {"catalog"},
	"engine/temporary":     {"engine/conform", "engine/ingest", "engine/planned", "engine/cast", "engine/snapshot", "exec/duckdb", "sql/dialect", "sql/lex", "sql/literal", "sql/pgcatalog", "sql/statement"},
	"engine/retained":      {"engine/account", "engine/conform", "exec/duckdb"},
	"engine/prepared":      {"engine/account", "engine/cast", "engine/outcome", "engine/relation", "engine/revalidation", "exec/duckdb", "sql/dialect", "sql/pgcatalog", "sql/statement", "sql/typing"},
	"engine/revalidation":  {"engine/function", "engine/relation", "engine/snapshot"},
	"engine/planned":       {"sql/setting", "engine/lookup", "engine/prepared", "engine/reader", "engine/scan", "engine/snapshot", "catalog", "exec/duckdb", "sql/dialect", "sql/optimization", "sql/pgcatalog"},
	"engine/kernel":        {"engine/account", "engine/conform", "engine/materialized", "engine/argument", "engine/configuration", "engine/facts", "engine/lease", "engine/member", "engine/order", "engine/reader", "engine/zonemap", "catalog", "exec/compute", "exec/duckdb", "exec/plan", "sql/optimization", "sql/setting"},
	"engine/configuration": {"engine/reader", "engine/snapshot", "engine/zone", "catalog", "exec/duckdb", "sql/optimization", "sql/pgcatalog", "sql/setting", "sql/statement"},
	"engine/snapshot":      {"engine/materialized", "engine/constraint", "engine/lease", "engine/lookup", "engine/names", "engine/reader", "catalog", "exec/duckdb", "sql/statement", "sql/past"},
	"engine/viewtext":      {"engine/calling", "engine/materialized", "engine/names", "engine/snapshot", "engine/systemtable", "catalog", "exec/duckdb", "sql/dialect", "sql/statement", "sql/past"},
	"engine/sequence":      {"engine/lookup", "engine/snapshot", "catalog", "exec/duckdb", "sql/dialect", "sql/statement"},
	"engine/comment":       {"engine/materialized", "engine/constraint", "engine/function", "engine/sequence", "engine/snapshot", "catalog", "sql/statement"},
	"engine/dependency":    {"engine/calling", "engine/materialized", "engine/cast", "engine/constraint", "engine/definition", "engine/function", "engine/sequence", "engine/snapshot", "engine/viewtext", "catalog", "exec/duckdb", "sql/dialect", "sql/statement"},
	"engine/namedtype":     {"engine/calling", "engine/materialized", "engine/cast", "engine/columntype", "engine/constraint", "engine/relation", "engine/snapshot", "engine/temporary", "catalog", "exec/duckdb", "sql/dialect", "sql/inline", "sql/pgcatalog", "sql/typing", "sql/statement"},
	"engine/rewrite":       {"engine/cast", "engine/columntype", "engine/ingest", "engine/retained", "engine/snapshot", "catalog", "exec/duckdb", "exec/plan", "sql/dialect", "sql/statement"},
	"engine/definition":    {"engine/calling", "engine/function", "engine/materialized", "engine/cast", "engine/check", "engine/columntype", "engine/constraint", "engine/ingest", "engine/namedtype", "engine/names", "engine/sequence", "engine/snapshot", "catalog", "exec/duckdb", "sql/dialect", "sql/past", "sql/typing", "sql/statement"},
	"engine/template":      {"engine/calling", "engine/function", "engine/cast", "engine/columntype", "engine/comment", "engine/constraint", "engine/definition", "engine/ingest", "engine/namedtype", "engine/sequence", "engine/snapshot", "catalog", "exec/duckdb", "sql/dialect", "sql/edit", "sql/lex", "sql/statement"},
	"engine/clone":         {"engine/materialized", "engine/cast", "engine/constraint", "engine/definition", "engine/namedtype", "engine/placement", "engine/sequence", "engine/snapshot", "engine/template", "catalog", "sql/past", "sql/statement"},
	"engine/function":      {"engine/cast", "engine/constraint", "engine/calling", "engine/materialized", "engine/viewtext", "engine/snapshot", "catalog", "exec/duckdb", "sql/dialect", "sql/inline", "sql/pgcatalog", "sql/typing", "sql/statement"},
	"engine/domain":        {"engine/calling", "engine/function", "catalog", "engine/alteration", "engine/cast", "engine/constraint", "engine/definition", "engine/namedtype", "engine/sequence", "engine/snapshot", "exec/duckdb", "sql/statement"},
	"engine/alteration":    {"engine/calling", "engine/function", "engine/materialized", "engine/cast", "engine/columntype", "engine/comment", "engine/constraint", "engine/definition", "engine/dependency", "engine/index", "engine/ingest", "engine/namedtype", "engine/placement", "engine/sequence", "engine/snapshot", "engine/upkeep", "engine/viewtext", "catalog", "exec/duckdb", "sql/dialect", "sql/edit", "sql/lex", "sql/past", "sql/statement"},
	"engine/outcome":       {},
	"engine/systemtable":   {"engine/account", "engine/facts", "engine/history", "engine/member", "engine/overdue", "engine/reader", "engine/split", "engine/upkeep", "catalog", "exec/duckdb"},
	"engine/inspection":    {"engine/lease", "engine/reader", "catalog", "cluster/noderpc", "exec/duckdb"},
	"engine/workforce":     {"engine/budget", "engine/lifetime", "engine/worker", "catalog", "exec/duckdb", "sql/setting", "sql/statement", "sql/past"},
	"engine/fragment":      {"engine/argument", "engine/custody", "engine/facts", "engine/ingest", "engine/lifetime", "engine/member", "engine/upkeep", "catalog", "cluster/noderpc", "exec/plan", "sql/dialect", "sql/optimization", "sql/setting"},
	"engine/split":         {"engine/argument", "engine/facts", "engine/fragment", "engine/lifetime", "engine/member", "engine/placement", "engine/reader", "engine/scan", "catalog", "cluster/noderpc", "exec/plan", "memregion", "sql/dialect", "sql/optimization"},
	"engine/turn":          {},
	"engine/lifetime":      {"engine/custody"},
	"engine/check":         {"engine/calling", "engine/columntype", "engine/constraint", "catalog", "exec/duckdb", "sql/dialect", "sql/pgcatalog", "sql/tree"},
	"engine/key":           {"engine/constraint", "engine/ingest", "engine/order", "engine/reader", "catalog"},
	"engine/reference":     {"engine/constraint", "engine/definition", "engine/ingest", "engine/key", "catalog"},
	"engine/merge":         {"engine/cast", "engine/columntype", "engine/conform", "engine/ingest", "engine/retained", "engine/rewrite", "engine/snapshot", "catalog", "exec/duckdb", "sql/lex", "sql/statement"},
	"engine/conflict":      {"engine/cast", "engine/columntype", "engine/constraint", "engine/ingest", "engine/key", "engine/retained", "engine/rewrite", "catalog", "exec/duckdb", "sql/dialect", "sql/statement"},
	"engine/rowlock":       {"catalog"},
	"engine/transaction":   {"engine/account", "engine/lease", "engine/rowlock", "catalog"},
	"engine/cursor":        {},
	"engine/part":          {"engine/locking", "engine/retained", "engine/revalidation", "catalog", "exec/duckdb", "sql/dialect", "sql/statement"},
	"engine/locking":       {"engine/materialized", "engine/retained", "engine/rewrite", "engine/rowlock", "engine/snapshot", "engine/transaction", "catalog", "exec/duckdb", "sql/bind", "sql/dialect", "sql/statement", "sql/past"},
	"engine/lease":         {"engine/reader", "catalog", "memregion"},
	"engine/overdue":       {},
	"engine/worker":        {},
	"engine/ingest":        {"catalog", "exec/duckdb/normal"},
	"engine/columntype":    {"exec/duckdb"},
	"engine/filter":        {"exec/duckdb", "exec/plan"},
	"engine/compressed":    {},
	"engine/constraint":    {"engine/calling", "catalog"},
	"engine/index":         {"engine/columntype", "engine/constraint", "engine/ingest", "engine/snapshot", "catalog", "exec/duckdb", "sql/statement"},
	"engine/placement":     {},
	"engine/calling":       {"catalog"},
	"engine/materialized":  {"engine/calling", "catalog"},
	"engine/refresh":       {"engine/constraint", "engine/ingest", "engine/materialized", "engine/namedtype", "engine/snapshot", "engine/viewtext", "catalog", "exec/duckdb/normal", "sql/dialect", "sql/statement"},
	"engine/former":        {"engine/snapshot", "catalog", "sql/statement"},
	"engine/lineage":       {},
	"engine/argument":      {"exec/duckdb", "exec/plan"},
	"engine/driver":        {"engine", "exec/duckdb", "wire/pgformat"},
	"engine":               {"engine", "sql", "cluster", "exec", "catalog", "coherence", "memregion", "queries/dbgen", "sql/statement"},
	"wire":                 {},
	"bench":                {"engine", "cluster/noderpc", "exec", "catalog", "coherence", "memregion", "queries", "internal/owneddir"},
	"cmd/csmsql":           {"engine", "sql", "wire", "bench", "queries", "cluster/noderpc", "cluster/certificate", "coherence", "exec/duckdb", "memregion", "catalog"},
	"examples":             {"engine"},
	"internal/abusetest":   {},
	"internal/anomaly":     {},
	"internal/bytesize":    {},
	"internal/cgroup":      {},
	"internal/clienttest":  {},
	"internal/layout":      {},
	"internal/invariants":  {},
	"internal/faults":      {},
	"internal/spelling":    {},
	"internal/counted":     {},
	"internal/tally":       {},
	"internal/filelock":    {},
	"internal/idlethreads": {},
	"internal/mark":        {},
	"internal/enumeration": {},
	"internal/persistent":  {},
	"internal/signal":      {},
	"internal/sqllist":     {},
	"internal/grammar":     {},
	"internal/testfabric":  {"memregion"},
	"internal/testsuite":   {},
	"internal/mutation":    {},
	"internal/owneddir":    {},
	"internal/shmdir":      {"internal/owneddir"},

	"internal/concatenation": {},

	"sql/pgcatalog/makeimages": {"exec/duckdb", "sql/pgcatalog"},
}

// L1.
func TestImportsPointDownward(t *testing.T) {
	eachFile(t, func(path string, imports []string) {
		folder := filepath.ToSlash(filepath.Dir(path))
		rule, ok := ruleFor(folder)
		require.True(t, ok, "%s: the package is not in the table of internal/layout; decide what it may import", folder)
		if strings.HasSuffix(path, "_test.go") {
			return // tests may look wherever they like
		}
		for _, i := range imports {
			name, ours := strings.CutPrefix(i, module)
			if !ours || within(name, rule) || slices.Contains(everywhere, name) {
				continue
			}
			permitted := slices.ContainsFunc(allowed[rule], func(a string) bool { return within(name, a) })
			require.True(t, permitted, "%s imports %s: %q may only import %v", path, name, rule, allowed[rule])
		}
	})
}

// L1: cgo, assembly and unsafe are only where the package's documentation says.
func TestDangerousThingsLiveInTheirPlaces(t *testing.T) {
	eachFile(t, func(path string, imports []string) {
		slashed := filepath.ToSlash(path)
		if slices.Contains(imports, "C") {
			require.True(t, strings.HasPrefix(slashed, "exec/duckdb/"), "%s uses cgo: only exec/duckdb may", path)
		}
		if slices.Contains(imports, "unsafe") && !strings.HasSuffix(path, "_test.go") {
			require.True(t, strings.HasSuffix(path, "_unsafe.go"), "%s uses unsafe: its name must end in _unsafe.go", path)
		}
	})
	eachFile(t, func(path string, _ []string) {
		if within(filepath.ToSlash(filepath.Dir(path)), "internal/filelock") || strings.HasSuffix(path, "_test.go") {
			return
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		require.NoError(t, err)
		require.NotRegexp(t, `unix\.(Flock|F_OFD_SETLK)\b`, string(text), "%s: files are locked by internal/filelock", path)
		require.NotRegexp(t, `bindings\.(Create(Enum|Struct|Union)Type|Create(Array|List|Map|Struct)Value|CreateDataChunk|AppenderCreateQuery|NewArrowSchema|ToArrowSchema)\b`,
			string(text), "%s: it writes pointers into memory that was not cleared, from Go; a garbage collection may end the process", path)
	})
	eachFile(t, func(path string, _ []string) { // tree.T2
		folder := filepath.ToSlash(filepath.Dir(path))
		if folder == "sql/tree" || within(folder, "bench") || within(folder, "internal") || strings.HasSuffix(path, "_test.go") {
			return
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		require.NoError(t, err)
		require.NotRegexp(t, `\bpg\.(Parse|ParseToJSON|Scan|Fingerprint|Normalize|SplitWith\w+)\(`, string(text),
			"%s: PostgreSQL's parser is called by sql/tree, which counts", path)
	})
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".s") {
			require.True(t, strings.HasPrefix(filepath.ToSlash(path), "../../coherence/"), "%s: assembly lives in coherence alone", path)
		}
		return err
	})
	require.NoError(t, err)
}

// Every package says what it is: in doc.go, or in its only file.
func TestEveryPackageIntroducesItself(t *testing.T) {
	introduced := map[string]bool{}
	files := map[string]int{}
	eachFile(t, func(path string, _ []string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		folder := filepath.Dir(path)
		files[folder]++
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", path), nil, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		introduced[folder] = introduced[folder] || parsed.Doc != nil
		if filepath.Base(path) == "doc.go" {
			files[folder] = -1000
		}
	})
	for folder := range files {
		require.True(t, introduced[folder], "%s: no file has a package comment", folder)
		if !strings.HasPrefix(filepath.ToSlash(folder), "cmd/csmsql") || strings.Count(filepath.ToSlash(folder), "/") > 1 {
			require.LessOrEqual(t, files[folder], 1, "%s has several files and no doc.go", folder)
		}
	}
}

func ruleFor(folder string) (string, bool) {
	for at := folder; at != "."; at = filepath.ToSlash(filepath.Dir(at)) {
		if _, ok := allowed[at]; ok {
			return at, true
		}
	}
	return "", false
}

func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// eachFile visits every Go file of the module with its imports.
func eachFile(t *testing.T, visit func(path string, imports []string)) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".pb.go") { // generated code has its own ways
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, i := range parsed.Imports {
			imports = append(imports, strings.Trim(i.Path.Value, `"`))
		}
		relative, err := filepath.Rel("../..", path)
		if err != nil {
			return err
		}
		files++
		visit(relative, imports)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 50, "the walk found hardly any files: it looks in the wrong place")
}
