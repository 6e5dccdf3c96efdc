package operate

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// intakeServer serves requests through an intake, and answers with their bodies.
func intakeServer(t *testing.T, n *intake) (address string) {
	t.Helper()
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})
	server := httptest.NewServer(http.MaxBytesHandler(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { n.serve(w, r, echo) }), 4<<20))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// post opens a connection and sends the headers of a request whose body has size bytes, which the
// server has to ask for.
func post(t *testing.T, address string, size int) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"+
		"Connection: close\r\nContent-Length: %d\r\n\r\n", size)
	return conn, bufio.NewReader(conn)
}

// answer returns the next status line and, for a final answer, its body.
func answer(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(response.Status + " " + string(body))
}

const continues = "100 Continue"

// The server asks for a body when it reads it. The third request gets a place when one of the first
// two has been answered.
func TestIntake_ReadsNoMoreBodiesThanItHasPlaces(t *testing.T) {
	n := newIntake(2, 1, time.Minute, time.Minute)
	address := intakeServer(t, n)
	first, firstAnswer := post(t, address, 1)
	_, secondAnswer := post(t, address, 1)
	for _, r := range []*bufio.Reader{firstAnswer, secondAnswer} {
		if got := answer(t, r); got != continues {
			t.Fatalf("with places left: %s", got)
		}
	}
	third, thirdAnswer := post(t, address, 1)
	if err := third.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if asked, err := thirdAnswer.Peek(1); err == nil {
		t.Fatalf("without a place the server sends %q", asked)
	}
	fmt.Fprint(first, "a")
	if got := answer(t, firstAnswer); got != "200 OK a" {
		t.Errorf("the first: %s", got)
	}
	if err := third.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(third, "c")
	if got := answer(t, thirdAnswer); got != continues {
		t.Errorf("with a place again: %s", got)
	}
	if got := answer(t, thirdAnswer); got != "200 OK c" {
		t.Errorf("the third: %s", got)
	}
}

// Clients that send nothing lose their places, and others are served.
func TestIntake_TakesThePlacesOfSlowClients(t *testing.T) {
	n := newIntake(2, 1, time.Minute, 100*time.Millisecond)
	address := intakeServer(t, n)
	var slow []*bufio.Reader
	for range cap(n.bodies) {
		conn, r := post(t, address, 2)
		if got := answer(t, r); got != continues {
			t.Fatalf("with places left: %s", got)
		}
		fmt.Fprint(conn, "a")
		slow = append(slow, r)
	}
	body := strings.Repeat("b", 3*bodyStretch)
	response, err := http.Post("http://"+address, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err != nil || string(got) != body {
		t.Errorf("%s, %d of %d bytes, %v", response.Status, len(got), len(body), err)
	}
	for _, r := range slow {
		const want = "408 Request Timeout the request's body arrives too slowly"
		if got := answer(t, r); got != want {
			t.Errorf("a slow client gets %s", got)
		}
	}
}

func TestIntake_RefusesRequestsThatGetNoPlace(t *testing.T) {
	const want = "503 Service Unavailable too many requests are being decoded; try again"
	for name, places := range map[string]func(n *intake) chan struct{}{
		"for a body":   func(n *intake) chan struct{} { return n.bodies },
		"to decode it": func(n *intake) chan struct{} { return n.decoding },
	} {
		n := newIntake(1, 1, 50*time.Millisecond, time.Minute)
		places(n) <- struct{}{}
		response, err := http.Post("http://"+intakeServer(t, n), "text/plain",
			strings.NewReader("a"))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if got := response.Status + " " + strings.TrimSpace(string(body)); err != nil ||
			got != want {
			t.Errorf("without a place %s: %s, %v", name, got, err)
		}
	}
}

func TestIntake_RefusesLargeBodies(t *testing.T) {
	address := intakeServer(t, newIntake(1, 1, time.Minute, time.Minute))
	conn, r := post(t, address, 5<<20)
	if got := answer(t, r); got != continues {
		t.Fatal(got)
	}
	go func() { _, _ = conn.Write(make([]byte, 5<<20)) }() // until the server closes the connection
	const want = "413 Request Entity Too Large the request is too large"
	if got := answer(t, r); got != want {
		t.Error(got)
	}
}
