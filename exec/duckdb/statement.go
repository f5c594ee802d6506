package duckdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/csmsql/csmsql/internal/invariants"
)

// Statement is one prepared statement of a connection; it keeps the scans that it was bound to.
type Statement struct {
	connection *Connection
	handle     bindings.PreparedStatement
	sql        string
	written    string        // as DuckDB was given it: with what users' types are
	args       []any         // that were last bound
	holds      []holding     // of the parameters' types as they were planned
	parameters []promised    // their types as they were planned
	promise    *promise      // see columns
	steady     bool          // no execution gives columns of other types
	raw        *arrow.Schema // its columns as DuckDB exports them; nil: they are to be looked up
	normal     *arrow.Schema // and as users see them

	ran, judged, once, hides bool // see renew
	plain                    bool // see unoptimized
	casts                    bool // see keep
}

// Parsed notifies tests of every text that DuckDB's parser is given, to be planned or run.
var Parsed invariants.Probe[string]

// Steady promises that every execution gives columns of the types that the first one does: all that the statement
// names are scans, and it has no parameters. Only the session's time zone may be another one. Looking the types up
// costs more than starting a small statement.
func (s *Statement) Steady() { s.steady = true }

// Kind says what a statement does, as far as the engine has to distinguish statements.
type Kind int

// The kinds; Other is everything that the engine does not hand to DuckDB on a client's behalf.
const (
	KindOther Kind = iota
	KindSelect
	KindExplain
	KindCreate
	KindDrop
	KindInsert
	KindUpdate
	KindDelete
)

var kinds = map[bindings.StatementType]Kind{
	bindings.StatementTypeSelect:   KindSelect,
	bindings.StatementTypeRelation: KindSelect,
	bindings.StatementTypeExplain:  KindExplain,
	bindings.StatementTypeCreate:   KindCreate,
	bindings.StatementTypeDrop:     KindDrop,
	bindings.StatementTypeInsert:   KindInsert,
	bindings.StatementTypeUpdate:   KindUpdate,
	bindings.StatementTypeDelete:   KindDelete,
}

// Prepare plans one statement. Its tables are resolved now: csm_scan and csm_table call back into this process.
func (c *Connection) Prepare(sql string) (*Statement, error) {
	if err := c.check(sql); err != nil {
		return nil, err
	}
	c.begin() // constants are computed now
	defer c.end()
	c.optimize(true)
	s, err := c.prepare(sql)
	if !isInternal(err) {
		return s, err
	}
	s, without := c.unoptimized(sql)
	if s != nil {
		return s, nil
	}
	return nil, explainInternal(sql, err, without)
}

func (c *Connection) prepare(sql string) (*Statement, error) {
	s := &Statement{connection: c, sql: sql}
	if err := c.Heard().Err(); err != nil {
		return nil, canceled(err)
	}
	defer c.EndWith(c.Heard())()
	sql, made := c.withTypes(sql)
	Parsed.Tell(sql)
	s.written = sql
	if !c.prepareIn(sql, &s.handle) {
		err := labelError(c.orExhausted(parseError(bindings.PrepareError(s.handle))), sql)
		err = inGiven(err, made)
		bindings.DestroyPrepare(&s.handle)
		said := IsCanceled(err) || interrupted(c.session) // what caught an interrupt may have reported another error
		if cause := c.Heard().Err(); cause != nil && said {
			err = canceled(cause)
		}
		return nil, err
	}
	s.holds, s.parameters = holdings(s.handle), promises(s.handle)
	return s, nil
}

// Texts runs a query of ours and gives its first column, of VARCHAR, NULL as an empty text.
func (c *Connection) Texts(ctx context.Context, sql string, args ...any) ([]string, error) {
	defer c.Hear(ctx)()
	s, err := c.Prepare(sql)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.Bind(args); err != nil {
		return nil, err
	}
	rows, err := s.Execute(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for {
		batch, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range int(batch.NumRows()) {
			text := ""
			if !batch.Column(0).IsNull(i) {
				text = strings.Clone(batch.Column(0).ValueStr(i))
			}
			out = append(out, text)
		}
		batch.Release()
	}
}

// Close forgets the statement and its scans.
func (s *Statement) Close() {
	bindings.DestroyPrepare(&s.handle)
	for i := range s.parameters {
		bindings.DestroyLogicalType(&s.parameters[i].kind)
	}
	s.promise.destroy()
	s.parameters, s.promise = nil, nil
}

// adopt takes what another statement of the same text was planned to; that one is closed.
func (s *Statement) adopt(other *Statement) {
	bindings.DestroyPrepare(&s.handle)
	s.handle, s.plain = other.handle, other.plain
	other.handle = bindings.PreparedStatement{}
	other.Close()
}

// Kind says what the statement does.
func (s *Statement) Kind() Kind {
	return kinds[bindings.PreparedStatementType(s.handle)]
}

// Resolved is false when DuckDB cannot say what the statement returns before its parameters have values: SELECT $1.
func (s *Statement) Resolved() bool {
	for i := range bindings.PreparedStatementColumnCount(s.handle) {
		if bindings.PreparedStatementColumnType(s.handle, i) == bindings.TypeInvalid {
			return false
		}
	}
	return true
}

// Parameters are the types of $1, $2, … as DuckDB deduced them; TypeUnknown where it could not.
func (s *Statement) Parameters() []ParameterType {
	out := make([]ParameterType, len(s.parameters))
	for i, p := range s.parameters {
		if out[i] = parameterTypes[p.id]; p.id == bindings.TypeList || p.id == bindings.TypeArray {
			out[i] = listOf(p.kind)
		}
	}
	return out
}

// listOf is the family of a type of lists, or of lists of lists; TypeUnknown if that of their elements is.
func listOf(t bindings.LogicalType) ParameterType {
	var element bindings.LogicalType
	switch id := bindings.GetTypeId(t); id {
	case bindings.TypeList:
		element = bindings.ListTypeChildType(t)
	case bindings.TypeArray:
		element = bindings.ArrayTypeChildType(t)
	default:
		if id == bindings.TypeVarchar && bindings.LogicalTypeGetAlias(t) == "JSON" {
			return TypeJSON | TypeList
		}
		if family := parameterTypes[id]; family != TypeUnknown {
			return family | TypeList
		}
		return TypeUnknown
	}
	defer bindings.DestroyLogicalType(&element)
	return listOf(element)
}

// ParameterType is the family that a parameter's type belongs to.
type ParameterType int

// The families.
const (
	TypeUnknown ParameterType = iota
	TypeBoolean
	TypeInt16
	TypeInt32
	TypeInt64
	TypeFloat32
	TypeFloat64
	TypeNumeric
	TypeText
	TypeBytes
	TypeDate
	TypeTime
	TypeTimestamp
	TypeTimestampTZ
	TypeInterval
	TypeUUID
	TypeJSON // as the element of a list: by itself it is text

	// TypeList beside another family says that the parameter is a list of such values, or a list of lists of them.
	TypeList ParameterType = 1 << 8
)

// Element is the family of a list's elements; ok is false for what is no list.
func (t ParameterType) Element() (family ParameterType, ok bool) {
	return t &^ TypeList, t&TypeList != 0
}

var parameterTypes = map[bindings.Type]ParameterType{
	bindings.TypeBoolean:     TypeBoolean,
	bindings.TypeTinyInt:     TypeInt16,
	bindings.TypeUTinyInt:    TypeInt16,
	bindings.TypeSmallInt:    TypeInt16,
	bindings.TypeUSmallInt:   TypeInt32,
	bindings.TypeInteger:     TypeInt32,
	bindings.TypeUInteger:    TypeInt64,
	bindings.TypeBigInt:      TypeInt64,
	bindings.TypeUBigInt:     TypeNumeric,
	bindings.TypeHugeInt:     TypeNumeric,
	bindings.TypeUHugeInt:    TypeNumeric,
	bindings.TypeDecimal:     TypeNumeric,
	bindings.TypeFloat:       TypeFloat32,
	bindings.TypeDouble:      TypeFloat64,
	bindings.TypeVarchar:     TypeText,
	bindings.TypeEnum:        TypeText,
	bindings.TypeBlob:        TypeBytes,
	bindings.TypeDate:        TypeDate,
	bindings.TypeTime:        TypeTime,
	bindings.TypeTimestamp:   TypeTimestamp,
	bindings.TypeTimestampS:  TypeTimestamp,
	bindings.TypeTimestampMS: TypeTimestamp,
	bindings.TypeTimestampNS: TypeTimestamp,
	bindings.TypeTimestampTZ: TypeTimestampTZ,
	bindings.TypeInterval:    TypeInterval,
	bindings.TypeUUID:        TypeUUID,
}

// Bind sets $1, $2, …: nil, bool, the integers, float32/64, *big.Int, Decimal, string, []byte, time.Time (a
// timestamp), Date, TimeOfDay, arrow.MonthDayNanoInterval. A string is converted by DuckDB to what the statement
// needs.
func (s *Statement) Bind(args []any) error {
	if want := len(s.parameters); want != len(args) {
		return &Error{Message: fmt.Sprintf("the statement has %d parameters, %d values were given", want, len(args)), State: "08P01", Byte: -1}
	}
	for i, arg := range args {
		if err := s.parameters[i].refuseLabel(i, arg); err != nil {
			return err
		}
		value, err := s.toValue(i, arg)
		if known, is := err.(*Error); is {
			return known
		}
		if err != nil {
			return &Error{Message: fmt.Sprintf("parameter $%d: %v", i+1, err), State: "22023", Byte: -1}
		}
		value = s.parameters[i].fit(value)
		state := bindings.BindValue(s.handle, bindings.IdxT(i+1), value)
		bindings.DestroyValue(&value)
		if state == bindings.StateError {
			return parseError(bindings.PrepareError(s.handle))
		}
	}
	s.args = args
	return nil
}

// Date is a day counted from 1970-01-01; TimeOfDay is in microseconds from midnight; TimestampTZ marks an instant.
type (
	Date        int32
	TimeOfDay   int64
	TimestampTZ time.Time
)

func (s *Statement) toValue(i int, arg any) (bindings.Value, error) {
	switch v := arg.(type) {
	case Decimal:
		return s.holds[i].decimalValue(v), nil
	case nil:
		return bindings.CreateNullValue(), nil
	case bool:
		return bindings.CreateBool(v), nil
	case int:
		return bindings.CreateInt64(int64(v)), nil
	case int8:
		return bindings.CreateInt8(v), nil
	case int16:
		return bindings.CreateInt16(v), nil
	case int32:
		return bindings.CreateInt32(v), nil
	case int64:
		return bindings.CreateInt64(v), nil
	case uint8:
		return bindings.CreateUInt8(v), nil
	case uint16:
		return bindings.CreateUInt16(v), nil
	case uint32:
		return bindings.CreateUInt32(v), nil
	case uint64:
		return bindings.CreateUInt64(v), nil
	case float32:
		return bindings.CreateFloat(v), nil
	case float64:
		return bindings.CreateDouble(v), nil
	case *big.Int:
		return wide(v), nil
	case string:
		if err := refuseText(len(v)); err != nil {
			return bindings.Value{}, err
		}
		value := bindings.CreateVarchar(v)
		if value.Ptr == nil {
			return value, errors.New("it is not UTF-8")
		}
		return value, nil
	case []byte:
		if err := refuseText(len(v)); err != nil {
			return bindings.Value{}, err
		}
		return bindings.CreateBlob(v), nil
	case Date:
		return bindings.CreateDate(bindings.NewDate(int32(v))), nil
	case TimeOfDay:
		return bindings.CreateTime(bindings.NewTime(int64(v))), nil
	case time.Time:
		return bindings.CreateTimestamp(bindings.NewTimestamp(v.UnixMicro())), nil
	case TimestampTZ:
		return bindings.CreateTimestampTZ(bindings.NewTimestamp(time.Time(v).UnixMicro())), nil
	case arrow.MonthDayNanoInterval:
		return bindings.CreateInterval(bindings.NewInterval(v.Months, v.Days, v.Nanoseconds/1000)), nil
	default:
		return bindings.Value{}, fmt.Errorf("values of Go type %T cannot be passed", arg)
	}
}

// Execute runs the statement with the values last bound. Only one Rows of a connection may be open at a time.
func (s *Statement) Execute(ctx context.Context) (*Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, canceled(err)
	}
	if err := s.renew(ctx); err != nil {
		return nil, err
	}
	startSession(s.connection.session)
	s.connection.optimize(!s.plain)
	s.connection.begin()
	stop := s.connection.EndWith(ctx)
	rows, err := s.start(ctx)
	if err != nil && s.replan(err) {
		rows, err = s.restart(ctx)
	}
	if err != nil {
		stop()
		s.connection.end()
		return nil, err
	}
	rows.stop = stop
	return rows, nil
}

func canceled(cause error) error {
	message := "canceling statement due to user request"
	if cause == context.DeadlineExceeded {
		message = "canceling statement due to statement timeout"
	}
	return &Error{Message: message, State: "57014", Byte: -1}
}
