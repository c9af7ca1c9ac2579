// Package archive is Belfry's exchange format: JSON lines, each an object that says in its type what it is. An
// export writes them, an import reads them. doc/import.md describes every type and field.
//
// It reads strictly: what it does not know, or would have to guess at, is an error of that line, and the rest is
// read on.
package archive
