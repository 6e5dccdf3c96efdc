package httpserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// serve starts a server whose requests may take 100 ms and whose bodies may have 4 bytes. read gets
// the error of each body.
func serve(t *testing.T) (address string, read chan error) {
	t.Helper()
	read = make(chan error, 1)
	server := New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		read <- err
	}), Limits{Read: 100 * time.Millisecond, Write: 10 * time.Second, Body: 4})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	return listener.Addr().String(), read
}

func TestServer_ClosesTheConnectionsOfSlowClients(t *testing.T) {
	address, read := serve(t)
	for _, sent := range []string{
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab",
		"POST / HTTP/1.1\r\nHost: a\r\nX-Slow: ",
		"",
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, sent)
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("after %q the connection stays open: %v", sent, err)
		}
		conn.Close()
	}
	var timeout net.Error
	if err := <-read; !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("the body ends with %v, want a timeout", err)
	}
}

func TestServer_RefusesLargeBodies(t *testing.T) {
	address, read := serve(t)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde")
	var large *http.MaxBytesError
	if err := <-read; !errors.As(err, &large) || large.Limit != 4 {
		t.Errorf("the body ends with %v, want a limit of 4 bytes", err)
	}
}

func TestFormProblem_SaysWhyAFormIsNotRead(t *testing.T) {
	for _, tt := range []struct {
		body io.Reader
		want int
	}{
		{strings.NewReader("a=" + strings.Repeat("x", 100)), http.StatusRequestEntityTooLarge},
		{strings.NewReader("a=%zz"), http.StatusBadRequest},
		{iotest.ErrReader(os.ErrDeadlineExceeded), http.StatusRequestTimeout},
		{iotest.ErrReader(io.ErrUnexpectedEOF), http.StatusBadRequest},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", tt.body)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, 100)
		err := r.ParseForm()
		if status, text := FormProblem(err); status != tt.want || text == "" {
			t.Errorf("%v: %d %s, want %d", err, status, text, tt.want)
		}
	}
}
