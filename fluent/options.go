package fluent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Option changes a setting of a Logger. The defaults are documented at each option's
// function.
type Option func(*options)

// options holds the settings. New sets the defaults, applies the options in order and
// validates the result; it is read-only afterwards.
type options struct {
	// encoding of records
	tagPrefix string
	seconds   bool
	maxRecord int

	// buffering
	flushInterval time.Duration
	batchBytes    int
	memory        int64
	records       int64 // 0: no limit
	overflow      Overflow
	spillDir      string
	spill         SpillOptions
	closeTimeout  time.Duration

	// the messages that are sent
	mode        Mode
	compression Compression
	ack         bool
	ackTimeout  time.Duration
	window      int

	// connections
	dial         func(ctx context.Context, network, address string) (net.Conn, error) // nil: a net.Dialer
	dialTimeout  time.Duration
	writeTimeout time.Duration
	keepalive    bool
	maxConnAge   time.Duration // 0: no limit
	tls          *tls.Config   // nil unless given; optional for servers with tls://
	sharedKey    string
	username     string
	password     string
	hostname     string

	// failures
	retryBase         time.Duration
	retryMax          time.Duration
	breakerThreshold  int
	balance           bool
	heartbeat         Heartbeat
	heartbeatInterval time.Duration
	errorHandler      ErrorHandler
	pendingLimit      int
}

func defaultOptions() options {
	return options{
		maxRecord:        1 << 20,
		flushInterval:    200 * time.Millisecond,
		batchBytes:       256 << 10,
		memory:           64 << 20,
		closeTimeout:     10 * time.Second,
		ack:              true,
		ackTimeout:       30 * time.Second,
		window:           16,
		dialTimeout:      3 * time.Second,
		writeTimeout:     10 * time.Second,
		keepalive:        true,
		retryBase:        200 * time.Millisecond,
		retryMax:         30 * time.Second,
		breakerThreshold: 1,
	}
}

// Overflow is the policy when the limits of WithMemory or WithRecords are reached.
type Overflow int

const (
	// DropNewest refuses the new record: Post returns ErrFull.
	DropNewest Overflow = iota
	// DropOldest drops the oldest batch that is not being sent, counts its records and
	// reports them as an Event. Post returns ErrFull only when everything pending is being
	// sent.
	DropOldest
	// Block makes the call wait for room: PostContext until its context ends, Post and the
	// others until the Logger is closed.
	Block
	// Spill moves the oldest batches to the directory of WithSpill. Post returns ErrFull if
	// the disk is full, fails, or is slower than the posted records.
	Spill
)

// Mode is the form of messages to the server.
type Mode int

const (
	// PackedForward sends a batch as one message. It is supported by Fluentd since 0.14 and
	// by Fluent Bit.
	PackedForward Mode = iota
	// Message sends each event as its own message, for servers that support nothing else. It
	// costs more bytes and more work on both sides.
	Message
)

// Compression is how the events in a message are compressed.
type Compression int

const (
	// NoCompression sends events uncompressed.
	NoCompression Compression = iota
	// Gzip makes access logs about ten times smaller. It is supported by Fluentd since
	// 0.14.7 and by Fluent Bit.
	Gzip
	// Zstd is faster than Gzip and smaller. It is supported by Fluentd since 1.19 and Fluent
	// Bit since 4.0; older versions treat such messages as damaged.
	Zstd
)

// Heartbeat is the way in which a Logger detects that a failed server is up again.
type Heartbeat int

const (
	// NoHeartbeat tries a server again by sending it records.
	NoHeartbeat Heartbeat = iota
	// ConnectHeartbeat opens a connection, with the handshake if there is one, and closes it
	// again.
	ConnectHeartbeat
	// UDPHeartbeat sends a datagram to the server's port and waits for its answer. Fluentd
	// answers, Fluent Bit does not.
	UDPHeartbeat
)

// SpillOptions configure the use of the disk by WithSpill.
type SpillOptions struct {
	// MaxBytes bounds the size of the directory. Default 1 GiB. At the limit the newest
	// records are refused: Post returns ErrFull.
	MaxBytes int64

	// Sync is the maximum time for which written data may be unsynced, and may thus be lost
	// if the machine (not the process) stops. Default 1 s. SyncAlways syncs after each
	// batch: safer, slower. SyncNever leaves it to the system. Flush and Shutdown sync in
	// any case.
	Sync time.Duration
}

// Special values of SpillOptions.Sync.
const (
	SyncAlways time.Duration = -1
	SyncNever  time.Duration = -2
)

// WithTagPrefix puts prefix and a dot before every tag. Default: none.
func WithTagPrefix(prefix string) Option { return func(o *options) { o.tagPrefix = prefix } }

// WithSeconds sends times as whole seconds, for servers before Fluentd 0.14, which don't
// support finer ones. Default: times with nanoseconds.
func WithSeconds() Option { return func(o *options) { o.seconds = true } }

// WithMaxRecord bounds the size of an encoded record, in bytes. Default 1 MiB, at most
// WithMemory. Post returns ErrTooLarge for a larger one. Fluent Bit closes the connection on
// a message above its Buffer_Max_Size (default 6 MB).
func WithMaxRecord(bytes int) Option { return func(o *options) { o.maxRecord = bytes } }

// WithFlushInterval sets the maximum time for which a record waits for others to be sent
// with it. Default 200 ms. A longer interval makes fewer, larger messages; waiting records
// are lost when the process is killed.
func WithFlushInterval(d time.Duration) Option { return func(o *options) { o.flushInterval = d } }

// WithBatchBytes sets the maximum size of a message, before compression, unless a single
// record is larger. Default 256 KiB, at most an eighth of WithMemory. A processor's buffer
// of that size is collected at once. Larger batches compress better; a failed batch is sent
// again as a whole.
func WithBatchBytes(bytes int) Option { return func(o *options) { o.batchBytes = bytes } }

// WithMemory bounds the encoded records pending in memory, including the ones being sent, in
// bytes. Default 64 MiB. WithOverflow sets the policy at the limit. A message to be sent
// counts as at least 1 KiB, which matters if there are thousands of tags. Buffers add up to
// about half of their content, and batches read back from WithSpill's directory are not
// counted: at most the window of each server.
func WithMemory(bytes int64) Option { return func(o *options) { o.memory = bytes } }

// WithRecords bounds the number of records pending in memory. Default 0: only WithMemory
// bounds them.
func WithRecords(n int64) Option { return func(o *options) { o.records = n } }

// WithOverflow sets the policy when the limits are reached. Default DropNewest. Spill needs
// WithSpill.
func WithOverflow(policy Overflow) Option { return func(o *options) { o.overflow = policy } }

// WithSpill sets a directory for records that exceed memory, and for the ones that remain at
// Shutdown; the next Logger with that directory sends them first. It sets
// WithOverflow(Spill). A directory may be used by one Logger at a time.
func WithSpill(dir string, spill SpillOptions) Option {
	return func(o *options) { o.spillDir, o.spill, o.overflow = dir, spill, Spill }
}

// WithCloseTimeout bounds how long Close waits for delivery. Default 10 s.
func WithCloseTimeout(d time.Duration) Option { return func(o *options) { o.closeTimeout = d } }

// WithMode sets the form of messages. Default PackedForward.
func WithMode(mode Mode) Option { return func(o *options) { o.mode = mode } }

// WithCompression compresses the events of each message. Default NoCompression, which saves
// processor time and costs network bandwidth. It needs PackedForward.
func WithCompression(c Compression) Option { return func(o *options) { o.compression = c } }

// WithAck requests an acknowledgement of every batch. Default true: a batch counts as
// delivered when the server has acknowledged it, and is sent again otherwise, so a receiver
// may see it twice. With false, a batch counts as delivered when it was written to the
// socket; data that the kernel or the server still holds is lost when either fails. The
// first batches of a connection then count a tenth of a second later, because a server that
// requires a key or a certificate closes only then; a connection that ends while idle loses
// nothing.
func WithAck(ack bool) Option { return func(o *options) { o.ack = ack } }

// WithAckTimeout sets the maximum time between writing a batch and its acknowledgement,
// after which its connection counts as failed. Default 30 s. Fluentd acknowledges when the
// events are in its buffer; a timeout shorter than that takes under load causes duplicates.
func WithAckTimeout(d time.Duration) Option { return func(o *options) { o.ackTimeout = d } }

// WithWindow sets the maximum number of unacknowledged batches per connection. Default 16. 1
// waits for each acknowledgement before the next batch; more hides the latency of the
// server, and is the maximum that a failure may repeat.
func WithWindow(batches int) Option { return func(o *options) { o.window = batches } }

// WithDial replaces the net.Dialer. The network is "tcp" or "unix"; TLS is added to the
// returned connection. dial must return when its context ends: Shutdown waits for it.
func WithDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return func(o *options) { o.dial = dial }
}

// WithDialTimeout bounds connecting, including TLS and handshake. Default 3 s; 0 means only
// the system's limit.
func WithDialTimeout(d time.Duration) Option { return func(o *options) { o.dialTimeout = d } }

// WithWriteTimeout bounds the writing of a message to a server that does not read;
// afterwards the connection counts as failed. Default 10 s; 0 means no limit.
func WithWriteTimeout(d time.Duration) Option { return func(o *options) { o.writeTimeout = d } }

// WithKeepalive sets whether a connection is used for more than one batch. Default true. A
// server can request false in its handshake.
func WithKeepalive(keep bool) Option { return func(o *options) { o.keepalive = keep } }

// WithMaxConnAge replaces connections older than d, between two batches, so that a changed
// DNS entry or load balancer takes effect. Default 0: never.
func WithMaxConnAge(d time.Duration) Option { return func(o *options) { o.maxConnAge = d } }

// WithTLS sets the configuration for servers of the form tls://host:port, for example other
// authorities or a client certificate. Default: the system's authorities. Without ServerName
// the address's host is verified.
func WithTLS(config *tls.Config) Option { return func(o *options) { o.tls = config } }

// WithSharedKey authenticates both sides with a shared key, as configured in Fluentd's
// <security> section. Default: none. The key is not sent over the network, but records are:
// use TLS if they are secret.
func WithSharedKey(key string) Option { return func(o *options) { o.sharedKey = key } }

// WithUser sets name and password for servers that require a user in addition to the shared
// key. Only a digest is sent.
func WithUser(name, password string) Option {
	return func(o *options) { o.username, o.password = name, password }
}

// WithHostname sets the client's name in the handshake, which must differ from the server's
// own. Default: os.Hostname.
func WithHostname(name string) Option { return func(o *options) { o.hostname = name } }

// WithRetry sets the waits between attempts at a failed server: after the first failure a
// random time up to base, after each further one in a row up to twice as much, but at most
// max. Default 200 ms and 30 s.
func WithRetry(base, max time.Duration) Option {
	return func(o *options) { o.retryBase, o.retryMax = base, max }
}

// WithBreaker sets the number of failures in a row after which a server counts as down.
// Default 1. Other servers then receive its batches, and it is tried again after a wait.
func WithBreaker(failures int) Option { return func(o *options) { o.breakerThreshold = failures } }

// WithBalance distributes batches among all servers that are up. Default: failover, where a
// server receives batches only while all before it are down.
func WithBalance() Option { return func(o *options) { o.balance = true } }

// WithHeartbeat sets how and how often a server that is down is tried. Default NoHeartbeat:
// with a batch, after WithRetry's wait.
func WithHeartbeat(kind Heartbeat, interval time.Duration) Option {
	return func(o *options) { o.heartbeat, o.heartbeatInterval = kind, interval }
}

// WithErrorHandler sets the handler of records that could not be sent, which is called while
// no server is up and more than pendingLimit records are pending. Default: none; records
// stay pending. See ErrorHandler.
func WithErrorHandler(h ErrorHandler, pendingLimit int) Option {
	return func(o *options) { o.errorHandler, o.pendingLimit = h, pendingLimit }
}

// resolve sets the defaults that depend on other options or on the machine, and validates
// all settings.
func (o *options) resolve() error {
	if err := o.check(); err != nil {
		return fmt.Errorf("fluent: %w", err)
	}
	o.maxRecord = int(min(int64(o.maxRecord), o.memory))
	o.batchBytes = int(min(int64(o.batchBytes), max(o.memory/8, 1)))
	if o.spill.MaxBytes == 0 {
		o.spill.MaxBytes = 1 << 30
	}
	if o.spill.Sync == 0 {
		o.spill.Sync = time.Second
	}
	if o.hostname == "" {
		o.hostname, _ = os.Hostname()
	}
	return nil
}

func (o *options) check() error {
	require := func(ok bool, format string, args ...any) error {
		if ok {
			return nil
		}
		return fmt.Errorf(format, args...)
	}
	positive := func(name string, n int64) error { return require(n > 0, "%s must be above 0, is %d", name, n) }
	notNegative := func(name string, n int64) error { return require(n >= 0, "%s must not be negative, is %d", name, n) }
	within := func(name string, n, last int) error {
		return require(n >= 0 && n <= last, "%s has no value %d", name, n)
	}
	return errors.Join(
		positive("MaxRecord", int64(o.maxRecord)),
		notNegative("FlushInterval", int64(o.flushInterval)),
		positive("BatchBytes", int64(o.batchBytes)),
		positive("Memory", o.memory),
		notNegative("Records", o.records),
		notNegative("CloseTimeout", int64(o.closeTimeout)),
		positive("AckTimeout", int64(o.ackTimeout)),
		positive("Window", int64(o.window)),
		notNegative("DialTimeout", int64(o.dialTimeout)),
		notNegative("WriteTimeout", int64(o.writeTimeout)),
		notNegative("MaxConnAge", int64(o.maxConnAge)),
		positive("Retry's base", int64(o.retryBase)),
		positive("Retry's max", int64(o.retryMax)),
		positive("Breaker", int64(o.breakerThreshold)),
		notNegative("pendingLimit", int64(o.pendingLimit)),
		within("Overflow", int(o.overflow), int(Spill)),
		within("Mode", int(o.mode), int(Message)),
		within("Compression", int(o.compression), int(Zstd)),
		within("Heartbeat", int(o.heartbeat), int(UDPHeartbeat)),
		o.checkTogether(),
	)
}

// checkTogether validates settings that exclude or need each other.
func (o *options) checkTogether() error {
	switch {
	case o.overflow == Spill && o.spillDir == "":
		return errors.New("overflow policy Spill needs WithSpill and its directory")
	case o.overflow != Spill && o.spillDir != "":
		return errors.New("WithSpill has its own policy, WithOverflow(Spill)")
	case o.spill.MaxBytes < 0:
		return fmt.Errorf("SpillOptions.MaxBytes must not be negative, is %d", o.spill.MaxBytes)
	case o.spill.Sync < SyncNever:
		return fmt.Errorf("SpillOptions.Sync has no value %d", o.spill.Sync)
	case o.mode == Message && o.compression != NoCompression:
		return errors.New("messages of single events can't be compressed: use PackedForward")
	case o.heartbeat != NoHeartbeat && o.heartbeatInterval <= 0:
		return fmt.Errorf("heartbeats need an interval above 0, not %s", o.heartbeatInterval)
	case o.retryBase > o.retryMax:
		return fmt.Errorf("base %s of Retry is above its max %s", o.retryBase, o.retryMax)
	case o.sharedKey != "" && len(o.hostname)+len(o.username) > 700: // of the 1,023 bytes that Fluent Bit reads
		return fmt.Errorf("host and user name have %d bytes, and the handshake has room for 700", len(o.hostname)+len(o.username))
	case o.username != "" && o.sharedKey == "":
		return errors.New("a user needs a shared key as well: WithSharedKey")
	}
	return nil
}
