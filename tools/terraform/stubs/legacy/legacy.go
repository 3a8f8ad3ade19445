// Package legacy satisfies a module requirement; nothing imports it.
package legacy
