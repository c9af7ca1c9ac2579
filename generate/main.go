// Generate generates graph/ from schema.graphqls: what gqlgen makes of it, and graph/render_gen.go. Run it
// by `make generate`.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
)

func main() {
	cfg, err := config.LoadConfig("gqlgen.yml")
	if err == nil {
		err = generate(cfg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(cfg *config.Config) error {
	p := newPlugin(cfg)
	// gqlgen reads the package that it writes: nothing may be left there that names what it has yet to write.
	if err := os.Remove(p.filename); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return api.Generate(cfg, api.AddPlugin(p))
}
