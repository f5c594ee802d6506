package wire

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// parse handles Parse: a statement gets prepared under a name.
func (c *connection) parse(message *pgproto3.Parse) (context.Context, error) {
	if message.Name != "" && c.taken(message.Name) {
		return c.ctx, &Error{"42P05", "prepared statement \"" + message.Name + "\" already exists", "Close it first, or use another name."}
	}
	if message.Name == "" {
		c.statements.forget("", false) // it goes even if this Parse fails
	}
	c.statements.closeForgotten() // here, too, so that a pipeline without end keeps no more than its open portals
	if err := pgformat.CheckText(message.Query); err != nil {
		return c.ctx, err
	}
	text := lex.Client.Text(message.Query)
	if isBlank(text) {
		return c.ctx, c.remember(message.Name, nil)
	}
	ctx, done := c.interruptible(c.remaining())
	defer done()
	statement, err := c.session.Prepare(ctx, text, message.ParameterOIDs)
	if err != nil {
		return ctx, interrupted(ctx, err)
	}
	return c.ctx, c.remember(message.Name, statement)
}

func (c *connection) remember(name string, statement Statement) error {
	if err := c.statements.put(name, newPrepared(statement)); err != nil {
		if statement != nil {
			statement.Close()
		}
		return err
	}
	c.out.send(&pgproto3.ParseComplete{})
	return nil
}

// bind handles Bind: a portal is a statement with its arguments.
func (c *connection) bind(message *pgproto3.Bind) error {
	c.remaining() // the clock begins here, too
	if message.DestinationPortal == "" {
		c.closePortal("")
	} else if _, exists := c.portals[message.DestinationPortal]; exists {
		return &Error{"42P03", "cursor \"" + message.DestinationPortal + "\" already exists", "Close it first, or use another name."}
	}
	if len(c.portals) >= PortalsMax {
		return &Error{"53400", "too many open portals on this connection", "Close those that are no longer needed."}
	}
	statement, err := c.hold(message.PreparedStatement)
	if err != nil {
		return err
	}
	p := &portal{prepared: statement, charge: charge{c.account, kindPortal, 0}}
	if err = p.charge.grow(argumentBytes(message, statement.parameters()) + columnBytes*int64(len(statement.fields))); err != nil {
		c.statements.drop(statement)
		return err
	}
	if p.arguments, err = decodeArguments(message, statement.parameters(), c.zone); err == nil {
		p.formats, err = resultFormats(message.ResultFormatCodes, len(statement.fields))
	}
	if err != nil {
		p.charge.shrink(0)
		c.statements.drop(statement)
		return err
	}
	p.ctx, p.cancel = context.WithCancelCause(c.ctx)
	c.portals[message.DestinationPortal] = p
	c.out.send(&pgproto3.BindComplete{})
	return nil
}

const (
	portalBytes  = 1 << 10 // what a portal takes without arguments
	columnBytes  = 256     // what encodes a column
	valueBytes   = 48      // a decoded value beside its text
	elementBytes = 24      // what two bytes of an array's text can become
)

// argumentBytes is at least what Bind's parameters take when they are decoded.
func argumentBytes(message *pgproto3.Bind, oids []uint32) int64 {
	bytes := int64(portalBytes)
	for i, parameter := range message.Parameters {
		factor := int64(1)
		if i < len(oids) {
			if _, array := pgformat.ElementOID(oids[i]); array {
				factor = elementBytes
			}
		}
		bytes += valueBytes + factor*int64(len(parameter))
	}
	return bytes
}

// decodeArguments checks Bind's parameters against the statement and decodes them.
func decodeArguments(message *pgproto3.Bind, oids []uint32, zone *time.Location) ([]Value, error) {
	given, codes := len(message.Parameters), message.ParameterFormatCodes
	if given != len(oids) {
		return nil, protocolViolation("bind message supplies %d parameters, but prepared statement \"%s\" requires %d",
			given, message.PreparedStatement, len(oids))
	}
	if len(codes) > 1 && len(codes) != given {
		return nil, protocolViolation("bind message has %d parameter formats but %d parameters", len(codes), given)
	}
	values := make([]Value, given)
	for i, bytes := range message.Parameters {
		values[i].OID = oids[i]
		if bytes == nil {
			continue
		}
		format, err := formatAt(codes, i)
		if err != nil {
			return nil, err
		}
		if values[i].Data, err = pgformat.Decode(oids[i], format, bytes, zone); err != nil {
			return nil, fmt.Errorf("parameter $%d: %w", i+1, err)
		}
	}
	return values, nil
}

// resultFormats spreads Bind's result format codes over the columns: none is all text, one is for all.
func resultFormats(codes []int16, columns int) ([]pgformat.Format, error) {
	if len(codes) > 1 && len(codes) != columns {
		return nil, protocolViolation("bind message has %d result formats but query has %d columns", len(codes), columns)
	}
	formats := make([]pgformat.Format, columns)
	for i := range formats {
		format, err := formatAt(codes, i)
		if err != nil {
			return nil, err
		}
		formats[i] = format
	}
	return formats, nil
}

func formatAt(codes []int16, i int) (pgformat.Format, error) {
	code := int16(0)
	switch {
	case len(codes) == 1:
		code = codes[0]
	case i < len(codes):
		code = codes[i]
	}
	if code != 0 && code != 1 {
		return 0, &Error{State: "22023", Message: fmt.Sprintf("unsupported format code: %d", code)}
	}
	return pgformat.Format(code), nil
}

// describe handles Describe of a statement or a portal.
func (c *connection) describe(message *pgproto3.Describe) error {
	switch message.ObjectType {
	case 'S':
		statement, err := c.hold(message.Name)
		if err != nil {
			return err
		}
		defer c.statements.drop(statement)
		c.out.send(&pgproto3.ParameterDescription{ParameterOIDs: shownParameters(statement.parameters())})
		c.sendFields(statement, nil)
		return nil
	case 'P':
		return c.describePortal(message.Name)
	}
	return protocolViolation("invalid DESCRIBE message subtype %d", message.ObjectType)
}

// describePortal describes a portal, or a cursor that SQL opened.
func (c *connection) describePortal(name string) error {
	p, err := c.portal(name)
	if err == nil {
		c.sendFields(p.prepared, p.formats)
		return nil
	}
	if cursors, ok := c.session.(Cursors); ok {
		if fields, ok := cursors.CursorFields(name); ok {
			_, shown := shownFields(fields)
			c.out.send(&pgproto3.RowDescription{Fields: shown})
			return nil
		}
	}
	return err
}

// shownParameters replaces open types by text, as which they are decoded.
func shownParameters(oids []uint32) []uint32 {
	shown := make([]uint32, len(oids))
	for i, oid := range oids {
		shown[i] = oid
		if oid == 0 || oid == pgformat.Unknown {
			shown[i] = pgformat.Text
		}
	}
	return shown
}

func (c *connection) sendFields(statement *prepared, formats []pgformat.Format) {
	if !statement.returnsRows() {
		c.out.send(&pgproto3.NoData{})
		return
	}
	fields := statement.fields
	if formats != nil {
		fields = append([]pgproto3.FieldDescription(nil), fields...)
		for i, format := range formats {
			fields[i].Format = int16(format)
		}
	}
	c.out.send(&pgproto3.RowDescription{Fields: fields})
}

// execute handles Execute: a portal runs, or goes on, for a number of rows.
func (c *connection) execute(message *pgproto3.Execute) (context.Context, error) {
	p, err := c.portal(message.Portal)
	if err != nil {
		return c.ctx, err
	}
	limit := 0
	if message.MaxRows <= math.MaxInt32 { // it is an int32; zero and less mean all
		limit = int(message.MaxRows)
	}
	err = c.running.begin(p.cancel, c.remaining())
	defer c.running.end()
	// A statement whose Sync has arrived is alone in its pipeline. It may commit, and be repeated if it loses a race,
	// before its result is sent.
	if err == nil && (limit != 0 || !c.in.ends()) {
		err = c.beginImplicit(p.ctx)
	}
	if err != nil {
		return p.ctx, err
	}
	err = c.run(p, limit)
	if p.state == portalDone {
		c.since = time.Time{}
	}
	return p.ctx, err
}

// close handles Close, which is no error for names that do not exist.
func (c *connection) close(message *pgproto3.Close) {
	if message.ObjectType == 'S' {
		c.statements.forget(message.Name, false)
		if named, ok := c.session.(Named); ok && message.Name != "" {
			named.ForgetNamed(message.Name)
		}
	} else {
		c.closePortal(message.Name)
	}
	c.out.send(&pgproto3.CloseComplete{})
}
