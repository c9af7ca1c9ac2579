package devdb

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

const (
	logName    = "postgres.log"
	oldLogName = "postgres.log.1"
	maxLog     = 8 << 20   // bytes; looked at before each start and every minute
	keptLog    = 256 << 10 // bytes of a full log that oldLogName keeps
	errorLines = 20        // lines of a log or complaint that go into an error
)

// openLog opens Postgres's log for appending and tells where the new lines begin.
func (c *Cluster) openLog() (f *os.File, from int64, err error) {
	if err := c.trimLog(); err != nil {
		return nil, 0, err
	}
	f, err = c.root.OpenFile(logName, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// trimLog keeps the end of a full log and empties the file in place: Postgres has it open for
// appending, and would follow a renamed one.
func (c *Cluster) trimLog() error {
	info, err := c.root.Stat(logName)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() <= maxLog {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.root.WriteFile(oldLogName, []byte(c.logSince(info.Size()-keptLog)), 0o600); err != nil {
		return err
	}
	f, err := c.root.OpenFile(logName, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// logSince returns what Postgres has logged behind an offset, at most keptLog bytes of it.
func (c *Cluster) logSince(from int64) string {
	f, err := c.root.Open(logName)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.NewSectionReader(f, from, keptLog)) // what can be read is better than nothing
	return string(text)
}

// lastLines returns the last n lines of text, each on a new line and indented, for an error.
func lastLines(text string, n int) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-n):]
	return "\n  " + strings.Join(lines, "\n  ")
}
