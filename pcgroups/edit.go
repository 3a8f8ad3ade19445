package pcgroups

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// editMembership replaces the membership in a stored value and leaves all the
// rest as it is, byte for byte: unknown keys, null against [], explicit limits
// of -1. A running member of the oracle compares what it watches with
// reflect.DeepEqual and ends when, say, a null becomes an empty list; and other
// implementations may know keys that this one does not.
//
// For a value written by this package or the oracle the result is what the
// oracle would write: the two keys come last in its encoding too.
func editMembership(value []byte, members []string, mappings []MemberMapping) ([]byte, error) {
	fields, err := topLevel(value)
	if err != nil {
		return nil, because(ErrInvalidConfig, err, "the stored value is not a configuration; repair or delete the group's key")
	}
	at := len(fields)
	kept := fields[:0]
	for i, f := range fields {
		// The decoder matches keys without case, so an oddly written one must
		// not be left beside the new one.
		if strings.EqualFold(f.key, "members") || strings.EqualFold(f.key, "member_mappings") {
			at = min(at, i)
			continue
		}
		kept = append(kept, f)
	}
	at = min(at, len(kept))
	var fresh []field
	if len(members) != 0 {
		fresh = append(fresh, field{"members", marshal(members)})
	}
	if len(mappings) != 0 {
		fresh = append(fresh, field{"member_mappings", marshal(mappings)})
	}
	out := bytes.NewBufferString("{")
	write := func(fs []field) {
		for _, f := range fs {
			if out.Len() > 1 {
				out.WriteByte(',')
			}
			out.Write(marshal(f.key))
			out.WriteByte(':')
			out.Write(f.raw)
		}
	}
	write(kept[:at])
	write(fresh)
	write(kept[at:])
	out.WriteByte('}')
	return out.Bytes(), nil
}

type field struct {
	key string
	raw json.RawMessage
}

// topLevel splits a JSON object into its fields in the order they stand.
func topLevel(value []byte) ([]field, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	if open, err := d.Token(); err != nil {
		return nil, err
	} else if open != json.Delim('{') {
		return nil, errNoObject
	}
	var fields []field
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		fields = append(fields, field{name, raw})
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errNoObject
	}
	return fields, nil
}

var errNoObject = errors.New("not one JSON object")
