package inbox

// The sizes of a page, in edges.
const (
	DefaultPage = 20
	MaxPage     = 100
)

// Page says which part of a list is asked for. Make one with NewPage.
type Page struct {
	// Size is the most edges that come back, 0 to MaxPage.
	Size int
	// Backward counts from the oldest end of the range. The edges come newest first all the same.
	Backward bool
	// After and Before bound the range, both exclusive; nil is no bound. After is the newer bound,
	// since lists run from new to old.
	After, Before *Cursor
	// Both asks for the flag of the far side too: whether anything lies behind the bound that the
	// page starts from. It costs a look-up, so only where the client selects it.
	Both bool
	// WithoutBody and WithoutData leave out what may be long, where the client does not select it.
	WithoutBody, WithoutData bool
}

// NewPage checks the arguments of a connection. An empty cursor counts as absent, since Apollo's
// relayStylePagination sends one. Errors are BadUserInput and name the argument.
func NewPage(first *int32, after *string, last *int32, before *string) (Page, error) {
	if first != nil && last != nil {
		return Page{}, BadArgument("last", "first and last exclude each other")
	}
	p := Page{Size: DefaultPage}
	for _, a := range []struct {
		name     string
		value    *int32
		backward bool
	}{{"first", first, false}, {"last", last, true}} {
		if a.value == nil {
			continue
		}
		if *a.value < 0 || *a.value > MaxPage {
			return Page{}, BadArgument(a.name, "%s must be 0 to %d", a.name, MaxPage)
		}
		p.Size, p.Backward = int(*a.value), a.backward
	}
	var err error
	if p.After, err = cursorArgument("after", after); err != nil {
		return Page{}, err
	}
	p.Before, err = cursorArgument("before", before)
	return p, err
}

func cursorArgument(name string, value *string) (*Cursor, error) {
	if value == nil || *value == "" {
		return nil, nil
	}
	c, ok := ParseCursor(*value)
	if !ok {
		return nil, BadArgument(name, "%s is not a cursor of this server", name)
	}
	return &c, nil
}

// Reach tells whether a list goes on beyond a page.
type Reach struct {
	HasNext, HasPrevious bool
}

// Edge is a row in a list. Its cursor is made where somebody asks for it.
type Edge[N interface{ Cursor() Cursor }] struct {
	Node N
}

// Cursor returns the row's place as clients see it.
func (e *Edge[N]) Cursor() string { return e.Node.Cursor().String() }

// AppendCursor appends what Cursor returns.
func (e *Edge[N]) AppendCursor(b []byte) []byte { return e.Node.Cursor().Append(b) }
