package optimization

import "strings"

// Set is some of the optimizations. The zero value is none of them.
type Set uint32

// The optimizations.
const (
	Pruning Set = 1 << iota
	Filters
	Keys
	Groups
	Enum
	JoinOrder
	SharedScans
	Compute
	Distribution
	Colocation
	Shuffle
	KeptPlans
	Views
	Constants
	Indexes
	beyond
)

// All is every one of them.
const All = beyond - 1

// all is the word for All.
const all = "all"

// table has the names, in the order in which they are listed, and what is done without each.
var table = []struct {
	set     Set
	name    string
	without string
}{
	{Pruning, "pruning", "chunks are read although their statistics say that no row of them can matter"},
	{Filters, "filters", "scans hand over rows that the statement's conditions drop"},
	{Keys, "keys", "the keys that are left of a filtered table do not filter the tables that are joined with it, nor what of them is shuffled"},
	{Groups, "groups", "a table is grouped whole, also where a sub-select's HAVING keeps few groups that one pass finds"},
	{Enum, "enum", "columns of few distinct texts are shown to DuckDB as text, not as the codes that chunks store"},
	{JoinOrder, "joinorder", "DuckDB orders joins by the sizes of whole tables, not by estimates of what their conditions leave"},
	{SharedScans, "sharedscans", "equal scans of one statement are made each for itself"},
	{Compute, "compute", "csm.backend = auto leaves everything to DuckDB, nothing to the Arrow kernels"},
	{Distribution, "distribution", "a query is run by the node that was asked, whatever csm.distribute says"},
	{Colocation, "colocation", "it is not made use of that equal keys of tables that are split by hash lie on one node"},
	{Shuffle, "shuffle", "the parts of a query exchange no rows by hash, whatever csm.shuffle says"},
	{KeptPlans, "keptplans", "every statement is replanned, as with plan_cache_mode = force_custom_plan"},
	{Views, "views", "views are left to DuckDB: no condition on their columns reaches the tables behind them"},
	{Constants, "constants", "DuckDB evaluates the VALUES of an INSERT, and each transaction's rows become a chunk at once"},
	{Indexes, "indexes", "all rows are looked at, although chunks are sorted by keys and indexes"},
}

// Has reports whether one of the optimizations is in the set.
func (s Set) Has(one Set) bool { return s&one != 0 }

// String lists the set as Parse reads it.
func (s Set) String() string {
	var names []string
	for _, o := range table {
		if s.Has(o.set) {
			names = append(names, o.name)
		}
	}
	return strings.Join(names, ", ")
}

// Parse reads a list of names with commas between them, in any case. unknown is the first word that names nothing; the
// set has the others.
func Parse(list string) (s Set, unknown string) {
	if strings.TrimSpace(list) == "" {
		return 0, ""
	}
	for word := range strings.SplitSeq(list, ",") {
		one := named(strings.ToLower(strings.TrimSpace(word)))
		if one == 0 && unknown == "" {
			unknown = strings.TrimSpace(word)
			if unknown == "" {
				unknown = list // a comma too many
			}
		}
		s |= one
	}
	return s, unknown
}

func named(word string) Set {
	for _, o := range table {
		if o.name == word {
			return o.set
		}
	}
	if word == all {
		return All
	}
	return 0
}

// Names are all words that Parse knows, as a list for people.
func Names() string { return All.String() + ", " + all }

// Description says in sentences what each name leaves out.
func Description() string {
	lines := make([]string, len(table))
	for i, o := range table {
		lines[i] = o.name + ": " + o.without
	}
	return "A list of what queries are to do without, with commas between. No answer changes by it. " + strings.Join(lines, ". ") + ". " + all + ": all of these."
}
