package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// compareJSON tells, path by path, how a document differs from the one wanted.
// Strictly, null, an empty list and a missing key are three things; otherwise a
// zero value is as good as a missing one, as it is to the server.
func compareJSON(want, got string, strict bool) ([]string, error) {
	w, err := decodeJSON(want)
	if err != nil {
		return nil, err
	}
	g, err := decodeJSON(got)
	if err != nil {
		return nil, err
	}
	d := jsonDiff{strict: strict}
	d.value("", w, g)
	return d.found, nil
}

func decodeJSON(text string) (any, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber() // limits need all their digits
	var v any
	err := d.Decode(&v)
	return v, err
}

type jsonDiff struct {
	strict bool
	found  []string
}

func (d *jsonDiff) add(format string, args ...any) {
	d.found = append(d.found, fmt.Sprintf(format, args...))
}

func (d *jsonDiff) value(path string, want, got any) {
	if reflect.DeepEqual(want, got) || !d.strict && isNothing(want) && isNothing(got) {
		return
	}
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			d.object(path, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			d.list(path, w, g)
			return
		}
	}
	d.add("changed %s from %s to %s", path, encodeJSON(want), encodeJSON(got))
}

func (d *jsonDiff) object(path string, want, got map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[key]
		switch {
		case ok:
			d.value(path+"."+key, want[key], g)
		case d.strict || !isNothing(want[key]):
			d.add("missing %s.%s: %s", path, key, encodeJSON(want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok && (d.strict || !isNothing(got[key])) {
			d.add("added %s.%s: %s", path, key, encodeJSON(got[key]))
		}
	}
}

func (d *jsonDiff) list(path string, want, got []any) {
	switch {
	case len(want) == len(got) && slices.Equal(sortedJSON(want), sortedJSON(got)):
		d.add("reordered %s from %s to %s", path, encodeJSON(want), encodeJSON(got))
	case len(want) != len(got):
		d.add("changed %s from %s to %s", path, encodeJSON(want), encodeJSON(got))
	default:
		for i := range want {
			d.value(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])
		}
	}
}

func sortedJSON(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = encodeJSON(v)
	}
	slices.Sort(out)
	return out
}

func encodeJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // what was just decoded
	return string(bytes.TrimSpace(b.Bytes()))
}

// isNothing tells whether a value says no more than its absence.
func isNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case json.Number:
		return v == "0"
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
