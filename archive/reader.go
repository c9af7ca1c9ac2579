package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxLine is the longest line, in bytes, without its line break.
const MaxLine = 1 << 20

// The bounds of a chunk.
const (
	chunkLines = 10_000
	chunkBytes = 4 << 20
)

// line is one line of the input.
type line struct {
	number int // from 1
	text   string
	err    error // why there is no text
}

// reader splits the input into chunks of lines. It holds no more than one of each.
type reader struct {
	in     *bufio.Reader
	number int // of the line read last
}

// byteOrderMark is what some editors put ahead of UTF-8.
var byteOrderMark = []byte("\ufeff")

func newReader(in io.Reader) *reader {
	r := &reader{in: bufio.NewReaderSize(in, MaxLine+len("\r\n"))}
	if head, err := r.in.Peek(len(byteOrderMark)); err == nil && bytes.Equal(head, byteOrderMark) {
		_, _ = r.in.Discard(len(byteOrderMark))
	}
	return r
}

// next returns the next lines but for the empty ones. An error comes with what was read before it, io.EOF with the
// last lines.
func (r *reader) next() ([]line, error) {
	var lines []line
	var texts strings.Builder
	var ends []int // of each line's text
	var err error
	for err == nil && texts.Len() < chunkBytes && len(lines) < chunkLines {
		var text []byte
		var fault error
		text, fault, err = r.line()
		if fault == nil && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		_, _ = texts.Write(text)
		lines, ends = append(lines, line{number: r.number, err: fault}), append(ends, texts.Len())
	}
	all, start := texts.String(), 0
	for i, end := range ends {
		lines[i].text, start = all[start:end], end
	}
	return lines, err
}

// line returns the next line without its line break, which is the reader's own until the next call, or what is
// wrong with it. After err there are no more.
func (r *reader) line() (text []byte, fault, err error) {
	text, err = r.in.ReadSlice('\n')
	isLong := errors.Is(err, bufio.ErrBufferFull)
	if isLong {
		err = r.skip()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err // what there is of the line says nothing
	}
	r.number++
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	if isLong || len(text) > MaxLine {
		return nil, fmt.Errorf("is longer than %d bytes", MaxLine), err
	}
	return text, nil, err
}

// skip passes over the rest of a line.
func (r *reader) skip() error {
	for {
		_, err := r.in.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
