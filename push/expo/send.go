package expo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"belfry/push"
)

const (
	// reconnectAfter is how long messages wait that found no connection.
	reconnectAfter = 5 * time.Second
	// unauthorizedPause is how long nothing is sent after Expo has refused the access token.
	unauthorizedPause = time.Minute
	// rateExceededAfter is how long a device is left alone that got too much.
	rateExceededAfter = time.Minute
	// maxParts is the most requests that one batch of messages is sent in. It finds eight malformed messages
	// of a hundred; where there are more, each time finds some.
	maxParts = 64
)

// part is messages that go out in one request, their payloads, and where their results belong.
type part struct {
	messages []push.Message
	payloads [][]byte
	results  []*push.Result
}

func (p part) slice(from, to int) part {
	return part{p.messages[from:to], p.payloads[from:to], p.results[from:to]}
}

func (p *part) add(m push.Message, payload []byte, r *push.Result) {
	p.messages = append(p.messages, m)
	p.payloads = append(p.payloads, payload)
	p.results = append(p.results, r)
}

// settle gives all messages one result.
func (p part) settle(r push.Result) {
	for i := range p.results {
		*p.results[i] = r
	}
}

// Send implements push.Sender. It is over within twice the configured timeout: what could not begin within
// the first is Requeued. More messages than maxBatch go out in several requests, one after another.
func (c *Client) Send(ctx context.Context, messages []push.Message) []push.Result {
	results := make([]push.Result, len(messages))
	var all part
	for i, m := range messages {
		if text, ok := c.encode(m); ok {
			all.add(m, text, &results[i])
		} else {
			results[i] = push.Result{Verdict: push.Failed, Error: codeMessageTooBig, Detail: "more than 4,096 bytes"}
		}
	}
	begin, cancel := context.WithTimeout(ctx, c.beginWithin(ctx))
	defer cancel()
	for from := 0; from < len(all.messages); from += maxBatch {
		job := &job{Client: c, ctx: ctx, begin: begin, left: maxParts}
		job.send(all.slice(from, min(from+maxBatch, len(all.messages))), true)
	}
	return results
}

// beginWithin is how long requests may begin: half of the time there is at most, since one that begins with
// no time left for its answer would fail of something that only the wait was to blame for.
func (c *Client) beginWithin(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(c.config.Timeout, time.Until(deadline)/2)
	}
	return c.config.Timeout
}

// job is the sending of one batch.
type job struct {
	*Client
	// ctx bounds requests under way, begin ends when no other may begin.
	ctx, begin context.Context
	// left is how many requests it may still make.
	left int
}

// send sends a part, and where nothing of it was taken because of some of its messages, the others again.
func (j *job) send(p part, maySplit bool) {
	if j.left == 0 {
		p.settle(push.Result{Verdict: push.Requeued, Error: errBusy, RetryAfter: patience})
		return
	}
	end, err := j.turn(j.begin, len(p.messages))
	if err != nil {
		p.settle(noTurn(err))
		return
	}
	j.left--
	answer, err := j.post(j.ctx, sendPath, join(p.payloads))
	end()
	// A 4xx counts even where the rest of it got lost.
	if err != nil && (answer.status < 400 || answer.status >= 500) {
		j.settle(p, j.lost(err, answer), answer.status)
		return
	}
	refused, isRefusal := decodeRefusal(answer.body)
	isOfMany := refused.code == codeTooManyProjects && len(refused.projects) > 1
	switch status := answer.status; {
	case status == http.StatusOK && !isRefusal:
		j.read(p, answer)
	case status == http.StatusTooManyRequests:
		j.settle(p, j.slowDown(refused, answer), status)
	case isUnauthorized(status, refused):
		j.settle(p, j.unauthorized(refused, answer, maySplit), status)
	case status == http.StatusBadRequest && isOfMany && maySplit:
		j.split(p, refused.projects)
	case isMalformed(status) && len(p.messages) > 1 && (maySplit || !isOfMany):
		half := len(p.messages) / 2
		j.send(p.slice(0, half), maySplit)
		j.send(p.slice(half, len(p.messages)), maySplit)
	default:
		j.settle(p, refusedResult(refused, answer), status)
	}
}

// settle gives all messages one result, and logs it without anything that they hold.
func (j *job) settle(p part, r push.Result, status int) {
	j.config.Logger.Warn("push request", "status", status, "code", loggable(r.Error), "messages", len(p.messages),
		"requeued", r.Verdict == push.Requeued)
	p.settle(r)
}

// isMalformed reports whether a status says that the request was not taken for what it holds.
func isMalformed(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity
}

func isUnauthorized(status int, r refusal) bool {
	isCode := r.code == codeUnauthorized && status >= 400 && status < 500
	return status == http.StatusUnauthorized || status == http.StatusForbidden || isCode
}

func join(payloads [][]byte) []byte {
	size := 2
	for _, p := range payloads {
		size += len(p) + 1
	}
	body := append(make([]byte, 0, size), '[')
	body = append(body, bytes.Join(payloads, []byte(","))...)
	return append(body, ']')
}

// read maps tickets to messages, by their position.
func (j *job) read(p part, answer response) {
	items, code := decodeTickets(answer.body, len(p.messages))
	if code != "" {
		j.settle(p, push.Result{Verdict: push.Failed, Error: code, Detail: detail(answer.body, "")}, answer.status)
		return
	}
	for i, it := range items {
		*p.results[i] = ticketResult(it, p.messages[i].Token)
	}
	j.alarm(slices.Values(items))
}

func ticketResult(it item, token string) push.Result {
	if it.status == "ok" {
		return push.Result{Verdict: push.Sent, Ticket: it.id}
	}
	r := push.Result{Verdict: push.Failed, Error: it.code, Detail: detail(it.raw, token)}
	switch {
	case it.status != "error":
		r.Error = errUnknownStatus
	case it.code == "":
		r.Error = errNoCode
	case it.code == codeMessageRateExceeded:
		r.Verdict, r.RetryAfter = push.Requeued, rateExceededAfter
	case it.code == codeDeviceNotRegistered:
		// A ticket that names another token is not this message's, whatever its position.
		r.DisableDevice = it.token == "" || it.token == token
	}
	return r
}

// noTurn is what becomes of messages whose request did not begin.
func noTurn(err error) push.Result {
	r := push.Result{Verdict: push.Requeued, Error: errBusy, RetryAfter: patience}
	if paused, ok := errors.AsType[*pausedError](err); ok {
		r.Error, r.RetryAfter = errPaused, paused.wait
	}
	return r
}

// lost is what becomes of messages whose answer did not come, or not whole.
func (j *job) lost(err error, answer response) push.Result {
	r := push.Result{Verdict: push.Failed, Error: errConnectionLost, Detail: detail(answer.body, "")}
	timeout, isTimeout := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	switch {
	case errors.Is(err, errNotConnected):
		return push.Result{Verdict: push.Requeued, Error: errNotSent, RetryAfter: reconnectAfter}
	case errors.Is(j.ctx.Err(), context.Canceled):
		r.Error = errCanceled
	case isTimeout && timeout.Timeout():
		r.Error = errTimeout
	case errors.Is(err, errTooLong):
		r.Error = errBadResponse
	}
	return r
}

// slowDown is what becomes of messages that were too many a second. Expo has taken none.
func (j *job) slowDown(refused refusal, answer response) push.Result {
	r := refusedResult(refused, answer)
	r.Verdict, r.RetryAfter = push.Requeued, j.pace.slow(answer.retryAfter, time.Now())
	return r
}

// unauthorized is what becomes of messages for which the access token is no good. No retry helps until
// somebody looks after it: these have failed, the rest of the queue waits for as long as the pause, and then
// a batch tries again. One part of several projects says nothing about the token.
func (j *job) unauthorized(refused refusal, answer response, isWhole bool) push.Result {
	r := refusedResult(refused, answer)
	if !isWhole && j.config.Project == "" {
		r.Error = errWrongProject
		return r
	}
	j.pace.stop(unauthorizedPause, time.Now())
	j.config.Logger.Error("Expo refuses the access token: nothing is pushed", "status", answer.status,
		"code", loggable(r.Error), "pause", unauthorizedPause.String())
	return r
}

// refusedResult is what becomes of messages whose request was refused.
func refusedResult(refused refusal, answer response) push.Result {
	code := refused.code
	switch {
	case code != "":
	case answer.status == http.StatusOK:
		code = errNoCode
	default:
		code = "http_" + strconv.Itoa(answer.status)
	}
	return push.Result{Verdict: push.Failed, Error: code, Detail: detail(answer.body, "")}
}

// split sends messages that Expo found to be of several projects again, each project's by themselves, but
// those of projects that are not ours not at all.
func (j *job) split(p part, projects map[string][]string) {
	owner := map[string]string{}
	for project, tokens := range projects {
		for _, token := range tokens {
			owner[token] = project
		}
	}
	parts := map[string]*part{}
	for i, m := range p.messages {
		project := owner[m.Token] // "" where Expo does not say
		if parts[project] == nil {
			parts[project] = &part{}
		}
		parts[project].add(m, p.payloads[i], p.results[i])
	}
	j.config.Logger.Warn("devices of several Expo projects", "projects", len(projects), "messages", len(p.messages))
	for _, project := range slices.Sorted(maps.Keys(parts)) {
		if ours := j.config.Project; ours != "" && project != "" && project != ours {
			parts[project].settle(push.Result{
				Verdict: push.Failed, Error: errWrongProject, DisableDevice: true,
				Detail: clip(fmt.Sprintf("the token is of %q", project), maxDetail),
			})
			continue
		}
		j.send(*parts[project], false)
	}
}
