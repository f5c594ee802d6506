package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/internal/anomaly"
)

// table is one way in which SQL can keep lists or sets, by a column k.
type table struct {
	name    string
	set     bool
	columns string
	fill    func(keys int) string // the rows of the beginning; nil: none
	// appends are statements that append a value to a key, whatever other sessions do meanwhile; nil: there is none. Of
	// several one is chosen.
	appends []func(key, value int) string
	// writes are statements that make a key's list what was read of it, and a value; nil: there are none.
	writes func(key int, list string) []string
	// shown is the expression, and what follows FROM, that read the values of keys as text with commas.
	shown, from string
	grouped     bool
	// gone: the values that are shown are not in the set, and all others up to valuesMost are.
	gone bool
}

// valuesMost is how many values are appended to one key. Then there is another one.
const valuesMost = 24

var tables = []*table{
	{
		name: "texts", columns: "k int, vs text", fill: empty("texts", "''"),
		appends: []func(int, int) string{func(key, value int) string {
			return fmt.Sprintf("UPDATE texts SET vs = vs || ',%d' WHERE k = %d", value, key)
		}},
		writes: func(key int, list string) []string {
			return []string{fmt.Sprintf("UPDATE texts SET vs = '%s' WHERE k = %d", list, key)}
		},
		shown: "vs", from: "texts",
	},
	{
		name: "arrays", columns: "k int, vs int[]", fill: empty("arrays", "CAST(ARRAY[] AS int[])"),
		appends: []func(int, int) string{func(key, value int) string {
			return fmt.Sprintf("UPDATE arrays SET vs = array_append(vs, %d) WHERE k = %d", value, key)
		}},
		shown: "array_to_string(vs, ',')", from: "arrays",
	},
	{
		name: "upserts", columns: "k int PRIMARY KEY, vs text",
		appends: []func(int, int) string{
			func(key, value int) string {
				return fmt.Sprintf("INSERT INTO upserts AS u VALUES (%d, ',%d') "+
					"ON CONFLICT (k) DO UPDATE SET vs = u.vs || excluded.vs", key, value)
			},
			func(key, value int) string {
				return fmt.Sprintf("MERGE INTO upserts AS u USING (VALUES (%d, ',%d')) AS n (k, vs) ON u.k = n.k "+
					"WHEN MATCHED THEN UPDATE SET vs = u.vs || n.vs "+
					"WHEN NOT MATCHED THEN INSERT VALUES (n.k, n.vs)", key, value)
			},
		},
		shown: "vs", from: "upserts",
	},
	{
		name: "rewritten", columns: "k int, vs text", fill: empty("rewritten", "''"),
		writes: func(key int, list string) []string {
			return []string{
				fmt.Sprintf("DELETE FROM rewritten WHERE k = %d", key),
				fmt.Sprintf("INSERT INTO rewritten VALUES (%d, '%s')", key, list),
			}
		},
		shown: "vs", from: "rewritten",
	},
	{
		name: "inserts", set: true, columns: "k int, v int",
		appends: []func(int, int) string{func(key, value int) string {
			return fmt.Sprintf("INSERT INTO inserts VALUES (%d, %d)", key, value)
		}},
		shown: "string_agg(CAST(v AS text), ',')", from: "inserts", grouped: true,
	},
	{
		name: "deletes", set: true, columns: "k int, v int", fill: all("deletes", ""),
		appends: []func(int, int) string{func(key, value int) string {
			return fmt.Sprintf("DELETE FROM deletes WHERE k = %d AND v = %d", key, value)
		}},
		shown: "string_agg(CAST(v AS text), ',')", from: "deletes", grouped: true, gone: true,
	},
	{
		name: "marks", set: true, columns: "k int, v int, marked boolean", fill: all("marks", ", false"),
		appends: []func(int, int) string{func(key, value int) string {
			return fmt.Sprintf("UPDATE marks SET marked = true WHERE k = %d AND v = %d", key, value)
		}},
		shown: "string_agg(CAST(v AS text), ',') FILTER (WHERE marked)", from: "marks", grouped: true,
	},
}

// empty makes rows with empty lists.
func empty(name, list string) func(int) string {
	return func(keys int) string {
		return fmt.Sprintf("INSERT INTO %s SELECT k, %s FROM generate_series(0, %d) AS g (k)", name, list, keys-1)
	}
}

// all makes a row of each value.
func all(name, more string) func(int) string {
	return func(keys int) string {
		return fmt.Sprintf("INSERT INTO %s SELECT k, v%s "+
			"FROM generate_series(0, %d) AS g (k), generate_series(1, %d) AS h (v)", name, more, keys-1, valuesMost)
	}
}

// object is one key of a table.
type object struct {
	*table
	key int
}

func (o object) name() anomaly.Key { return anomaly.Key(fmt.Sprintf("%s/%d", o.table.name, o.key)) }

// isSet is anomaly.Options.Set.
func isSet(key anomaly.Key) bool {
	name, _, _ := strings.Cut(string(key), "/")
	return slices.ContainsFunc(tables, func(t *table) bool { return t.set && t.name == name })
}

// query reads objects of one table.
func (t *table) query(objects []object, more string) string {
	keys := make([]string, len(objects))
	for i, o := range objects {
		keys[i] = strconv.Itoa(o.key)
	}
	where := "k IN (" + strings.Join(keys, ", ") + ")"
	if len(keys) == 1 {
		where = "k = " + keys[0]
	}
	if t.grouped {
		more = " GROUP BY k" + more
	}
	return fmt.Sprintf("SELECT '%s', k, %s FROM %s WHERE %s%s", t.name, t.shown, t.from, where, more)
}

// queryAll reads objects of any tables.
func queryAll(objects []object) string {
	var parts []string
	for _, t := range tables {
		own := slices.DeleteFunc(slices.Clone(objects), func(o object) bool { return o.table != t })
		if len(own) > 0 {
			parts = append(parts, t.query(own, ""))
		}
	}
	return strings.Join(parts, " UNION ALL ")
}

// values reads what a query has answered of an object: none if it has no row.
func (o object) values(rows [][]string) (values []anomaly.Value, err error) {
	text, found := "", false
	for _, row := range rows {
		if len(row) == 3 && row[0] == o.table.name && row[1] == strconv.Itoa(o.key) {
			if found {
				return nil, fmt.Errorf("%s has two rows: %v", o.name(), rows)
			}
			text, found = row[2], true
		}
	}
	for part := range strings.SplitSeq(strings.Trim(text, ","), ",") {
		if part == "" {
			continue
		}
		v, err := strconv.Atoi(part)
		if err != nil {
			return nil, fmt.Errorf("%s is %q: %w", o.name(), text, err)
		}
		values = append(values, anomaly.Value(v))
	}
	if o.gone {
		there := values
		values = nil
		for v := range anomaly.Value(valuesMost) {
			if !slices.Contains(there, v+1) {
				values = append(values, v+1)
			}
		}
	}
	return values, nil
}

// list is values as a list is written.
func list(values []anomaly.Value) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, ",%d", v)
	}
	return b.String()
}
