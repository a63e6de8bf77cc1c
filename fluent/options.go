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

// Option changes one setting of a Logger. Those not given keep the default
// that the option's function tells.
type Option func(*options)

// options holds what the options set. New fills in the defaults, applies the
// options in their order and checks the outcome; from then on nobody writes it.
type options struct {
	// what a record becomes
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

	// what is sent
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
	tls          *tls.Config   // nil unless given; servers with tls:// need none
	sharedKey    string
	username     string
	password     string
	hostname     string

	// what follows a failure
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

// Overflow says what becomes of records when as many are pending as WithMemory
// or WithRecords allow.
type Overflow int

const (
	// DropNewest refuses the new record: Post returns ErrFull.
	DropNewest Overflow = iota
	// DropOldest gives up the oldest batch that is not being sent, counts its
	// records and reports them as an Event. Post returns ErrFull only when
	// everything pending is being sent.
	DropOldest
	// Block makes the call wait for room: PostContext until its context ends,
	// Post and the others until the Logger is closed.
	Block
	// Spill moves the oldest batches to the directory of WithSpill. Post
	// returns ErrFull when the disk is full, fails, or is slower than what is
	// posted.
	Spill
)

// Mode is the form in which events go out.
type Mode int

const (
	// PackedForward sends a batch as one message. Every Fluentd since 0.14 and
	// every Fluent Bit reads it.
	PackedForward Mode = iota
	// Message sends each event as a message of its own, for servers that read
	// nothing else. It costs more bytes and more work on both sides.
	Message
)

// Compression is how the events in a message are compressed.
type Compression int

const (
	// NoCompression sends events as they are.
	NoCompression Compression = iota
	// Gzip makes access logs about ten times smaller. Fluentd since 0.14.7
	// and every Fluent Bit read it.
	Gzip
	// Zstd is faster than Gzip and smaller. Fluentd since 1.19 and Fluent Bit
	// since 4.0 read it; an older one takes such messages for damaged.
	Zstd
)

// Heartbeat is how a Logger finds out that a server which failed is back.
type Heartbeat int

const (
	// NoHeartbeat tries a server again by sending it records.
	NoHeartbeat Heartbeat = iota
	// ConnectHeartbeat opens a connection, with the handshake if there is one,
	// and closes it again.
	ConnectHeartbeat
	// UDPHeartbeat sends a datagram to the server's port and waits for its
	// answer. Fluentd answers, Fluent Bit does not.
	UDPHeartbeat
)

// SpillOptions say how WithSpill uses the disk.
type SpillOptions struct {
	// MaxBytes bounds the directory. Default 1 GiB. When it is reached the
	// newest records are refused: Post returns ErrFull.
	MaxBytes int64

	// Sync is how long what was written may stay unsynced, and so may be lost
	// when the machine (not the process) stops. Default 1 s. SyncAlways syncs
	// after each batch: safer, slower. SyncNever leaves it to the system.
	// Flush and Shutdown sync in any case.
	Sync time.Duration
}

// Values of SpillOptions.Sync.
const (
	SyncAlways time.Duration = -1
	SyncNever  time.Duration = -2
)

// WithTagPrefix puts prefix and a dot before every tag. Default: none.
func WithTagPrefix(prefix string) Option { return func(o *options) { o.tagPrefix = prefix } }

// WithSeconds sends times as whole seconds, for servers before Fluentd 0.14,
// which can't read finer ones. Default: times with nanoseconds.
func WithSeconds() Option { return func(o *options) { o.seconds = true } }

// WithMaxRecord bounds one encoded record, in bytes. Default 1 MiB, never more
// than WithMemory. Post returns ErrTooLarge for a larger one. Fluent Bit closes
// the connection on a message above its Buffer_Max_Size (6 MB unless set).
func WithMaxRecord(bytes int) Option { return func(o *options) { o.maxRecord = bytes } }

// WithFlushInterval sets how long a record may wait for others to be sent with
// it. Default 200 ms. A longer interval makes fewer, larger messages; what is
// waiting is lost when the process is killed.
func WithFlushInterval(d time.Duration) Option { return func(o *options) { o.flushInterval = d } }

// WithBatchBytes sets how many bytes of records, before compression, go into
// one message at most, unless one record alone has more. Default 256 KiB, never
// more than an eighth of WithMemory. So much in one processor's buffer is
// collected at once. Larger batches compress better; one that fails is sent
// again as a whole.
func WithBatchBytes(bytes int) Option { return func(o *options) { o.batchBytes = bytes } }

// WithMemory bounds the encoded records that are pending in memory, being sent
// or not, in bytes. Default 64 MiB. WithOverflow says what follows when it is
// reached. A message to be sent counts as 1 KiB at least, which matters where
// there are thousands of tags. Buffers add up to about half of what they hold to it, and batches
// read back from WithSpill's directory are not counted: at most the window of each server.
func WithMemory(bytes int64) Option { return func(o *options) { o.memory = bytes } }

// WithRecords bounds the number of records that are pending in memory. Default
// 0: only WithMemory bounds them.
func WithRecords(n int64) Option { return func(o *options) { o.records = n } }

// WithOverflow says what becomes of records when the limits are reached.
// Default DropNewest. Spill needs WithSpill.
func WithOverflow(policy Overflow) Option { return func(o *options) { o.overflow = policy } }

// WithSpill gives a directory for records that memory has no room for, and for
// those that remain at Shutdown; the next Logger with that directory sends
// them first. It sets WithOverflow(Spill). One Logger may use a directory at a time.
func WithSpill(dir string, spill SpillOptions) Option {
	return func(o *options) { o.spillDir, o.spill, o.overflow = dir, spill, Spill }
}

// WithCloseTimeout bounds how long Close waits for delivery. Default 10 s.
func WithCloseTimeout(d time.Duration) Option { return func(o *options) { o.closeTimeout = d } }

// WithMode sets the form of messages. Default PackedForward.
func WithMode(mode Mode) Option { return func(o *options) { o.mode = mode } }

// WithCompression compresses the events of each message. Default
// NoCompression: it spares the processor and costs network. It needs
// PackedForward.
func WithCompression(c Compression) Option { return func(o *options) { o.compression = c } }

// WithAck asks the server to acknowledge every batch. Default true: a batch
// counts as delivered when the server has said so, and is sent again if it
// does not, so that a receiver may see it twice. Without, a batch counts as
// delivered when it was written to the socket; what the kernel or the server
// then still holds is lost when either of them goes away. The first batches of
// a connection count a tenth of a second later, since a server that wants a key
// or a certificate closes only then; a connection that ends while nothing is
// being sent costs nothing.
func WithAck(ack bool) Option { return func(o *options) { o.ack = ack } }

// WithAckTimeout sets how long after it was written a batch may remain
// unacknowledged before its connection counts as failed. Default 30 s. Fluentd
// acknowledges when its buffer has the events; a value below what that takes
// under load makes duplicates.
func WithAckTimeout(d time.Duration) Option { return func(o *options) { o.ackTimeout = d } }

// WithWindow sets how many batches may be unacknowledged on one connection.
// Default 16. 1 waits for each acknowledgement before it sends on; more hides
// the distance to the server, and is what a failure may repeat.
func WithWindow(batches int) Option { return func(o *options) { o.window = batches } }

// WithDial replaces the net.Dialer. The network is "tcp" or "unix"; TLS is
// added to what dial returns. It must return when its context ends: Shutdown
// waits for it.
func WithDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return func(o *options) { o.dial = dial }
}

// WithDialTimeout bounds connecting, with TLS and handshake. Default 3 s; 0 is
// no bound but the system's.
func WithDialTimeout(d time.Duration) Option { return func(o *options) { o.dialTimeout = d } }

// WithWriteTimeout bounds the writing of one message, for a server that does not
// read. Default 10 s; 0 is no bound. Then the connection counts as failed.
func WithWriteTimeout(d time.Duration) Option { return func(o *options) { o.writeTimeout = d } }

// WithKeepalive says whether a connection serves for more than one batch.
// Default true. A server can ask for false in its handshake.
func WithKeepalive(keep bool) Option { return func(o *options) { o.keepalive = keep } }

// WithMaxConnAge replaces a connection that is older, between two batches, so
// that a changed DNS entry or load balancer takes effect. Default 0: never.
func WithMaxConnAge(d time.Duration) Option { return func(o *options) { o.maxConnAge = d } }

// WithTLS gives the configuration for servers written as tls://host:port: own
// authorities, a client certificate. Default: the system's authorities, the
// host's name. Without ServerName the address's host is verified.
func WithTLS(config *tls.Config) Option { return func(o *options) { o.tls = config } }

// WithSharedKey authenticates both sides with a key that both know, as
// Fluentd's <security> section asks for. Default: none. The key does not go
// over the wire, records do: use TLS where they are secret.
func WithSharedKey(key string) Option { return func(o *options) { o.sharedKey = key } }

// WithUser gives name and password for servers that ask for a user as well as
// the shared key. Only a digest goes over the wire.
func WithUser(name, password string) Option {
	return func(o *options) { o.username, o.password = name, password }
}

// WithHostname sets the name that the handshake tells the server, which must
// differ from the server's own. Default: os.Hostname.
func WithHostname(name string) Option { return func(o *options) { o.hostname = name } }

// WithRetry sets the waits between attempts at a failed server: after the first
// failure a random time up to base, after each further one in a row up to twice
// as much, but never above max. Default 200 ms and 30 s.
func WithRetry(base, max time.Duration) Option {
	return func(o *options) { o.retryBase, o.retryMax = base, max }
}

// WithBreaker sets how many failures in a row make a server count as down.
// Default 1. Others take over its batches then, and it is tried again after a wait.
func WithBreaker(failures int) Option { return func(o *options) { o.breakerThreshold = failures } }

// WithBalance shares batches out among all servers that are up. Default:
// failover, where a server gets batches only while all before it are down.
func WithBalance() Option { return func(o *options) { o.balance = true } }

// WithHeartbeat sets how and how often a server that is down is tried.
// Default NoHeartbeat: with a batch, after WithRetry's wait.
func WithHeartbeat(kind Heartbeat, interval time.Duration) Option {
	return func(o *options) { o.heartbeat, o.heartbeatInterval = kind, interval }
}

// WithErrorHandler has h called with records that could not be sent while no
// server is up and more than pendingLimit records are pending. Default: none;
// records stay pending. See ErrorHandler.
func WithErrorHandler(h ErrorHandler, pendingLimit int) Option {
	return func(o *options) { o.errorHandler, o.pendingLimit = h, pendingLimit }
}

// resolve fills in what depends on other options or on the machine, and says
// which setting makes no sense.
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
	positive := func(name string, n int64) error {
		if n > 0 {
			return nil
		}
		return fmt.Errorf("%s must be above 0, is %d", name, n)
	}
	notNegative := func(name string, n int64) error {
		if n >= 0 {
			return nil
		}
		return fmt.Errorf("%s must not be negative, is %d", name, n)
	}
	within := func(name string, n, last int) error {
		if n >= 0 && n <= last {
			return nil
		}
		return fmt.Errorf("%s has no value %d", name, n)
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

// checkTogether looks at settings that exclude or need each other.
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
