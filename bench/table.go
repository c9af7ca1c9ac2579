package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// figure is a line of the table.
type figure struct {
	name, value, spread, target, verdict string
}

// goal is what a figure must reach.
type goal struct {
	limit     float64
	isAtLeast bool
	// isEitherWay is for a difference, which may be below zero.
	isEitherWay bool
	// also stands in the table behind the limit.
	also string
}

func atMost(limit float64) goal  { return goal{limit: limit} }
func atLeast(limit float64) goal { return goal{limit: limit, isAtLeast: true} }

func (g goal) verdict(value float64) string {
	isMet := value <= g.limit
	switch {
	case g.isAtLeast:
		isMet = value >= g.limit
	case g.isEitherWay:
		isMet = math.Abs(value) <= g.limit
	}
	if isMet {
		return "met"
	}
	return "missed"
}

func (g goal) text(format string) string {
	words := "at most "
	switch {
	case g.isAtLeast:
		words = "at least "
	case g.isEitherWay:
		words += "± "
	}
	return words + fmt.Sprintf(format, g.limit) + g.also
}

// report adds a figure that needs no more than words.
func (b *bench) report(name, value, target string) {
	b.figures = append(b.figures, figure{name: name, value: value, target: target})
}

// measured adds a figure that has a value for each round: the middle one counts, and the ends are the
// spread. The format is for one value; detail follows the middle one.
func (b *bench) measured(name, format string, values []float64, g goal, detail string) {
	slices.Sort(values)
	value := middle(values)
	if detail != "" {
		detail = " (" + detail + ")"
	}
	f := figure{
		name: name, value: fmt.Sprintf(format, value) + detail, target: g.text(format), verdict: g.verdict(value),
	}
	if len(values) > 1 {
		f.spread = fmt.Sprintf(format+" to "+format, values[0], values[len(values)-1])
	}
	b.figures = append(b.figures, f)
}

// ratio formats what has no unit.
const ratio = "%.2f"

// middle returns the median, of two the greater; it sorts the values.
func middle[T float64 | int64](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// printTable writes the figures for a terminal.
func (b *bench) printTable(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "FIGURE\tMEASURED\tSPREAD\tTARGET\t")
	for _, f := range b.figures {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", f.name, f.value, f.spread, f.target, f.verdict)
	}
	return w.Flush()
}

// markdown returns the figures as a table for a page.
func (b *bench) markdown() string {
	var text strings.Builder
	text.WriteString("| figure | measured | spread | target | |\n|---|---|---|---|---|\n")
	for _, f := range b.figures {
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s |\n", f.name, f.value, f.spread, f.target, f.verdict)
	}
	return text.String()
}
