package wire

import (
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/csmsql/csmsql/wire/pgformat"
)

// prepared is a statement with what the protocol needs to know about it. Portals keep it alive after its name is gone.
type prepared struct {
	statement Statement // nil: an empty query string
	types     []pgformat.Type
	fields    []pgproto3.FieldDescription // nil when it returns no rows
	bySQL     bool                        // the name is SQL's: PREPARE gave it
	holders   int                         // guarded by statements.mu: the name and the portals
}

func newPrepared(statement Statement) *prepared {
	p := &prepared{statement: statement, holders: 1}
	if statement == nil || statement.Fields() == nil {
		return p
	}
	p.types, p.fields = shownFields(statement.Fields())
	return p
}

// shownFields returns the description of a schema that is sent to the client.
func shownFields(schema *arrow.Schema) ([]pgformat.Type, []pgproto3.FieldDescription) {
	types := make([]pgformat.Type, schema.NumFields())
	fields := make([]pgproto3.FieldDescription, schema.NumFields())
	for i, field := range schema.Fields() {
		shown := pgformat.TypeOf(field)
		table, column := pgformat.OriginOf(field)
		types[i] = shown
		fields[i] = pgproto3.FieldDescription{
			Name:                 []byte(withoutNUL(field.Name)),
			TableOID:             table,
			TableAttributeNumber: column,
			DataTypeOID:          shown.OID,
			DataTypeSize:         pgformat.Size(shown.OID),
			TypeModifier:         shown.Typmod,
		}
	}
	return types, fields
}

func (p *prepared) parameters() []uint32 {
	if p.statement == nil {
		return nil
	}
	return p.statement.Parameters()
}

// statements holds a connection's prepared statements by name; the unnamed one has the empty name. Lock order:
// statements.mu is innermost, no foreign code runs under it.
type statements struct {
	mu        sync.Mutex
	named     map[string]*prepared // guarded by mu
	forgotten []Statement          // guarded by mu; to be closed by the connection's goroutine when nothing runs
}

func (s *statements) init() { s.named = make(map[string]*prepared) }

// put stores p under a name; the unnamed statement is replaced, others must be new.
func (s *statements) put(name string, p *prepared) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, exists := s.named[name]; exists {
		if name != "" {
			return &Error{"42P05", "prepared statement \"" + name + "\" already exists", "Close it first, or use another name."}
		}
		s.release(old)
	}
	if len(s.named) >= StatementsMax {
		return &Error{"53400", "too many prepared statements on this connection", "Close those that are no longer needed (DEALLOCATE)."}
	}
	s.named[name] = p
	return nil
}

// find looks up what Parse named.
func (s *statements) find(name string) (*prepared, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.named[name]
	return p, ok && name != "" && !p.bySQL
}

// names lists what Parse named, in order.
func (s *statements) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name, p := range s.named {
		if name != "" && !p.bySQL {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *statements) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.named[name]
	return ok
}

// hold finds a statement and keeps it alive until drop.
func (s *statements) hold(name string) (*prepared, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.named[name]
	if !ok {
		if name == "" {
			return nil, &Error{State: "26000", Message: "unnamed prepared statement does not exist"}
		}
		return nil, &Error{State: "26000", Message: "prepared statement \"" + name + "\" does not exist"}
	}
	p.holders++
	return p, nil
}

func (s *statements) drop(p *prepared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(p)
}

// release takes one holder away. Preconditions: s.mu is held.
func (s *statements) release(p *prepared) {
	p.holders--
	if p.holders == 0 && p.statement != nil {
		s.forgotten = append(s.forgotten, p.statement)
	}
}

// forget removes a name; all names when it is empty and all is true.
func (s *statements) forget(name string, all bool) (existed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !all {
		p, ok := s.named[name]
		if ok {
			delete(s.named, name)
			s.release(p)
		}
		return ok
	}
	existed = len(s.named) > 0
	for _, p := range s.named {
		s.release(p)
	}
	clear(s.named)
	return existed
}

// closeForgotten closes the forgotten statements that have no holder left.
func (s *statements) closeForgotten() {
	s.mu.Lock()
	forgotten := s.forgotten
	s.forgotten = nil
	s.mu.Unlock()
	for _, statement := range forgotten {
		statement.Close()
	}
}

func (s *statements) closeAll() {
	s.forget("", true)
	s.closeForgotten()
}

// Deallocate implements Client.
func (c *connection) Deallocate(name string) bool {
	return c.statements.forget(name, name == "")
}

// Prepared implements Client.
func (c *connection) Prepared(name string) (Statement, bool) {
	p, ok := c.statements.find(name)
	if !ok {
		return nil, false
	}
	return p.statement, true
}

// PreparedNames implements Client.
func (c *connection) PreparedNames() []string { return c.statements.names() }

// taken reports whether a statement of the name exists, from Parse or from SQL.
func (c *connection) taken(name string) bool {
	if c.statements.has(name) {
		return true
	}
	named, ok := c.session.(Named)
	return ok && named.HasNamed(name)
}

// hold finds a statement by its name, also one that SQL prepared, and keeps it alive until it is dropped.
func (c *connection) hold(name string) (*prepared, error) {
	named, ok := c.session.(Named)
	if !ok || name == "" || c.statements.has(name) {
		return c.statements.hold(name)
	}
	ctx, done := c.interruptible(c.remaining())
	defer done()
	statement, ok, err := named.PrepareNamed(ctx, name)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	if ok {
		p := newPrepared(statement)
		p.bySQL = true
		if err := c.statements.put(name, p); err != nil {
			statement.Close()
			return nil, err
		}
	}
	return c.statements.hold(name)
}
