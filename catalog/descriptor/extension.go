package descriptor

import (
	"fmt"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/internal/enumeration"
)

// ForeignExtension stands for an extension type that is not registered in this process. It keeps name and metadata,
// so that a table with it can be read and copied by programs that do not know the type.
type ForeignExtension struct {
	arrow.ExtensionBase
	name, metadata string
}

// ForeignArray is the array of a ForeignExtension.
type ForeignArray struct{ array.ExtensionArrayBase }

// ValueStr is the storage's text.
func (a *ForeignArray) ValueStr(i int) string { return a.Storage().ValueStr(i) }

func (*ForeignExtension) ArrayType() reflect.Type { return reflect.TypeFor[ForeignArray]() }

func (t *ForeignExtension) ExtensionName() string { return t.name }

func (t *ForeignExtension) Serialize() string { return t.metadata }

// ExtensionEquals compares name, metadata and storage, with any other type's.
func (t *ForeignExtension) ExtensionEquals(o arrow.ExtensionType) bool {
	return t.name == o.ExtensionName() && t.metadata == o.Serialize() && arrow.TypeEqual(t.Storage, o.StorageType())
}

// Deserialize makes a type of the same name.
func (t *ForeignExtension) Deserialize(storage arrow.DataType, data string) (arrow.ExtensionType, error) {
	return &ForeignExtension{arrow.ExtensionBase{Storage: storage}, t.name, data}, nil
}

func (t *ForeignExtension) String() string {
	return fmt.Sprintf("extension<%s, %v>", t.name, t.Storage)
}

// resolveExtension asks the registered type. Its Deserialize is foreign code and sees bytes from outside, so a panic
// in it means that they are corrupt.
func resolveExtension(name string, storage arrow.DataType, data string) (dt arrow.DataType, err error) {
	if name == enumeration.Extension {
		return (*enumeration.Type)(nil).Deserialize(storage, data)
	}
	registered := arrow.GetExtensionType(name)
	if registered == nil {
		return &ForeignExtension{arrow.ExtensionBase{Storage: storage}, name, data}, nil
	}
	defer func() {
		if r := recover(); r != nil {
			dt, err = nil, fmt.Errorf("extension type %q: %v", name, r)
		}
	}()
	made, err := registered.Deserialize(storage, data)
	if err != nil {
		return nil, fmt.Errorf("extension type %q: %w", name, err)
	}
	// The layout was validated for the storage on the wire; a type that thinks otherwise would read past it.
	if !arrow.TypeEqual(made.StorageType(), storage) {
		return nil, fmt.Errorf("extension type %q wants storage %v, not %v", name, made.StorageType(), storage)
	}
	return made, nil
}
