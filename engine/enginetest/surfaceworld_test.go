package enginetest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// field is a column of a source: a table, a view, a CTE or a derived table.
type field struct {
	name string
	typ  *valueType
}

// relation is a source of rows that a query may name.
type relation struct {
	name   string
	fields []field
	unique []string // columns that together tell its rows apart; nil: none are known to
	rows   int      // at most about so many
	sql    string   // of a view
	lines  []string // of a table: the statements that make it
	next   int      // of a table: the next id
}

// database is a schema by chance with its rows.
type database struct {
	tables []*relation
	views  []*relation
	edge   bool // keys are where types end to tell neighbours apart
	placed bool // tables lie on several nodes
}

func (d *database) script() (out []string) {
	for _, t := range d.tables {
		out = append(out, t.lines...)
	}
	for _, v := range d.views {
		out = append(out, "CREATE VIEW "+v.name+" AS "+v.sql)
	}
	return out
}

// sources are all that can be read.
func (d *database) sources() []*relation {
	return append(append([]*relation{}, d.tables...), d.views...)
}

// newDatabase makes two to four tables of any types; each has a unique id and a key that the others have, too.
// Tables that are placed have mostly the same type of key: else they never lie alike.
func newDatabase(r *rand.Rand, placed bool) *database {
	d := &database{}
	key := pick(r, valueTypes)
	for !key.key || key.family != "int" && chance(r, 50) {
		key = pick(r, valueTypes)
	}
	var edge []*valueType
	if chance(r, 25) {
		edge = pick(r, edges)
		d.edge = true
	}
	n := 2 + r.IntN(3)
	if edge != nil {
		n = max(n, 3)
	}
	for i := range n {
		t := &relation{name: fmt.Sprintf("t%d", i), unique: []string{"id"}}
		if i > 0 && chance(r, 10) && d.tables[0].rows > 0 {
			t.copyOf(r, d.tables[0])
			d.tables = append(d.tables, t)
			continue
		}
		t.fields = append(t.fields, field{"id", typesOf["INTEGER"]}, field{"k", key})
		if chance(r, map[bool]int{false: 60, true: 30}[placed]) { // keys of another type that it can be compared with
			if other := pick(r, valueTypes); other.key && (other.family == key.family || isNumber(other.family) && isNumber(key.family)) {
				t.fields[1].typ = other
			}
		}
		if edge != nil {
			t.fields[1].typ = pick(r, edge)
			if chance(r, 70) { // of one type, with another between them
				t.fields[1].typ = edge[i%2]
			}
		}
		columns := 3 + r.IntN(6)
		if edge != nil {
			columns = 1 + r.IntN(2)
		}
		for c := range columns {
			typ := pick(r, valueTypes)
			if chance(r, 50) {
				for family := pick(r, optimized); typ.family != family; {
					typ = pick(r, valueTypes)
				}
			}
			t.fields = append(t.fields, field{fmt.Sprintf("%c%d", 'a'+rune(r.IntN(2)), c), typ})
		}
		t.create(r)
		d.tables = append(d.tables, t)
	}
	if placed {
		d.place(r)
	}
	return d
}

// place lets tables lie on three nodes: mostly by a hash of the key, so that some lie alike and others do not.
func (d *database) place(r *rand.Rand) {
	d.placed = true
	for _, t := range d.tables {
		where := "hash(k)"
		switch n := r.IntN(100); {
		case d.edge && n < 75: // they lie alike
		case n < 30:
			where = "rows"
		case n < 36:
			where = "node(" + pick(r, []string{"n1", "n2", "n3"}) + ")"
		case n < 42:
			where = "rows(n2, n3)"
		case n < 52:
			where += " on (" + pick(r, []string{"n3, n1, n2", "n2, n1", "n2, n3"}) + ")"
		case n < 60:
			where = "hash(" + pick(r, []string{"id", "id, k", "k, id"}) + ")"
		}
		name, rest, _ := strings.Cut(strings.TrimPrefix(t.lines[0], "CREATE TABLE "), " ")
		placement := fmt.Sprintf("WITH (placement = '%s')", where)
		if strings.HasPrefix(rest, "AS ") {
			t.lines[0] = fmt.Sprintf("CREATE TABLE %s %s %s", name, placement, rest)
		} else {
			t.lines[0] += " " + placement
		}
	}
}

var placements = regexp.MustCompile(` WITH \(placement = '[^']*'\)`)

func (t *relation) create(r *rand.Rand) {
	var columns []string
	for i, f := range t.fields {
		text := f.name + " " + f.typ.name
		if i == 0 || chance(r, 5) && i > 1 {
			text += " NOT NULL"
		}
		columns = append(columns, text)
	}
	t.lines = append(t.lines, fmt.Sprintf("CREATE TABLE %s (%s)", t.name, strings.Join(columns, ", ")))
	for range r.IntN(5) {
		t.lines = append(t.lines, t.insertSome(r, pick(r, []int{1, 1, 2, 4, 7})))
	}
	if chance(r, 40) {
		t.lines = append(t.lines, t.insertMany(r, pick(r, []int{40, 40, 130, 300, 2049, 2600})))
		if chance(r, 40) {
			t.lines = append(t.lines, t.insertMany(r, 200), t.insertSome(r, 2))
		}
	}
	t.deleteSome()
}

// deleteSome takes rows away in a third of the tables: some here and there, or nearly all. It draws nothing of what the
// others draw from.
func (t *relation) deleteSome() {
	r := rand.New(rand.NewPCG(uint64(t.rows), uint64(len(t.fields))))
	if !chance(r, 33) {
		return
	}
	for range 1 + r.IntN(2) {
		n := pick(r, []int{2, 5, 50})
		t.lines = append(t.lines, fmt.Sprintf("DELETE FROM %s WHERE id %% %d %s %d", t.name, n, pick(r, []string{"=", "=", "<>"}), r.IntN(n)))
	}
}

func (t *relation) notNull(i int) bool {
	return i == 0 || strings.Contains(t.lines[0], t.fields[i].name+" "+t.fields[i].typ.name+" NOT NULL")
}

// literal is a value of f's pool, as a statement says it.
func literal(r *rand.Rand, typ *valueType) string {
	v := pick(r, typ.pool)
	if chance(r, 50) {
		return v
	}
	return fmt.Sprintf("CAST(%s AS %s)", v, typ.name)
}

func (t *relation) insertSome(r *rand.Rand, n int) string {
	rows := make([]string, n)
	for i := range rows {
		cells := make([]string, len(t.fields))
		for c, f := range t.fields {
			cells[c] = literal(r, f.typ)
			if chance(r, 18) && !t.notNull(c) {
				cells[c] = "NULL"
			}
		}
		cells[0] = fmt.Sprint(t.next)
		t.next++
		rows[i] = "(" + strings.Join(cells, ", ") + ")"
	}
	t.rows += n
	return fmt.Sprintf("INSERT INTO %s VALUES %s", t.name, strings.Join(rows, ", "))
}

func (t *relation) insertMany(r *rand.Rand, n int) string {
	cells := make([]string, len(t.fields))
	for c, f := range t.fields {
		value := f.typ.many
		switch {
		case chance(r, 50):
			value = f.typ.words
		case f.typ.family == "int" && chance(r, 30): // sorted, several of each
			value = fmt.Sprintf("(i // %d) %% 120", 2+r.IntN(3))
		}
		value = fmt.Sprintf("CAST(%s AS %s)", value, f.typ.name)
		if chance(r, 50) && !t.notNull(c) {
			value = fmt.Sprintf("CASE WHEN i %% %d > 0 THEN %s END", 2+r.IntN(9), value)
		}
		cells[c] = value
	}
	cells[0] = fmt.Sprintf("CAST(%d + i AS INTEGER)", t.next)
	t.next += n
	t.rows += n
	order := pick(r, []string{"", "", " ORDER BY hash(i)", " ORDER BY i DESC"})
	return fmt.Sprintf("INSERT INTO %s SELECT %s FROM range(%d) AS g(i)%s", t.name, strings.Join(cells, ", "), n, order)
}

// copyOf makes the table by a query.
func (t *relation) copyOf(r *rand.Rand, from *relation) {
	t.fields, t.rows, t.next = from.fields, from.rows, from.next
	where := pick(r, []string{"", " WHERE id % 2 = 0", " WHERE k IS NOT NULL", " WHERE false", " ORDER BY k, id"})
	t.lines = []string{fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM %s%s", t.name, from.name, where)}
}
