package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/pflag"
)

// serveFile is where a data directory keeps the flags with which its node is served: a JSON object, of flags' names and
// values.
const serveFile = "serve.json"

// readServeFile sets the flags that the data directory's file has and the command line has not.
func readServeFile(flags *pflag.FlagSet, data string) error {
	path := filepath.Join(data, serveFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("--data %s: that is a file, not a directory", data)
	}
	if err != nil {
		return fmt.Errorf("the node's settings: %w", err)
	}
	var settings map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&settings); err != nil {
		return fmt.Errorf("%s is no JSON object of flags and their values: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if err := setFromFile(flags, name, settings[name]); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func setFromFile(flags *pflag.FlagSet, name string, value any) error {
	flag := flags.Lookup(name)
	switch {
	case flag == nil || name == "data" || name == "help":
		return fmt.Errorf("%q is no flag that a node's settings can have; “csmsql serve --help” lists the flags", name)
	case flag.Changed:
		return nil // the command line's
	}
	var list []any
	switch value := value.(type) {
	case []any:
		list = value
	case []string:
		for _, v := range value {
			list = append(list, v)
		}
	default:
		list = []any{value}
	}
	for _, v := range list {
		switch v.(type) {
		case string, bool, json.Number:
		default:
			return fmt.Errorf("%s: %v is no value of a flag", name, v)
		}
		if err := flags.Set(name, fmt.Sprint(v)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// writeServeFile makes the file; it must not be there.
func writeServeFile(data string, settings map[string]any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(settings); err != nil {
		return err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(data, serveFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the node's settings: %w", err)
	}
	_, err = file.Write(text.Bytes())
	return errors.Join(err, file.Sync(), file.Close())
}
