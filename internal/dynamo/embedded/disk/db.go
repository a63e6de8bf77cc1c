package disk

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// Options configure an open directory. The zero value is for production.
type Options struct {
	// NoSync makes Wait return at once, before the batch is on disk. A crash of the process
	// may lose the last writes; a crash of the machine may lose the writes since the last
	// sync, which happens every syncEvery. A batch is never lost in part.
	NoSync bool
	// Small is for one of several open directories: it takes less memory and fewer files, and
	// reads of more data than its cache has are slower.
	Small bool
	// Log receives errors of background work. Nil for slog.Default().
	Log *slog.Logger

	// FS is the file system. Nil for the operating system's; tests inject faults here.
	FS FS
}

// FS is a file system.
type FS = vfs.FS

// Sizes that bound memory: the block cache, and writes that are not yet in tables.
const (
	cacheBytes    = 64 << 20
	memtableBytes = 16 << 20
	openFiles     = 512

	smallCacheBytes = 8 << 20
	smallOpenFiles  = 64
)

// DB is an open directory.
type DB struct {
	dir       string
	fs        vfs.FS
	log       *slog.Logger
	saving    sync.Mutex // held while saved contents are written, read or removed
	db        *pebble.DB
	lock      *pebble.Lock
	space     *space
	integrity *integrity
	syncer    *batchSyncer // nil: writers wait for the sync
}

var _ kv.DB = (*DB)(nil)

// Open opens the directory, and creates it if it is missing.
func Open(dir string, o Options) (*DB, error) {
	o.Log = cmp.Or(o.Log, slog.Default())
	fs := o.FS
	if fs == nil {
		fs = privateFS{vfs.Default}
	}
	d := &DB{dir: dir, fs: fs, log: o.Log}
	if err := d.open(dir, fs, o); err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", dir, err)
	}
	return d, nil
}

func (d *DB) open(dir string, fs vfs.FS, o Options) error {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock, err := lockDirectory(dir, fs)
	if err != nil {
		return err
	}
	d.lock = lock
	if err := d.openLocked(dir, fs, o); err != nil {
		if d.integrity != nil {
			err = errors.Join(err, d.integrity.close())
		}
		return errors.Join(err, lock.Close())
	}
	d.space.run()
	if o.NoSync {
		d.syncer = newBatchSyncer(o.Log)
	}
	return nil
}

// openLocked opens the locked directory. It verifies the directory before it changes it.
func (d *DB) openLocked(dir string, fs vfs.FS, o Options) error {
	version, err := readFormat(dir, fs)
	if err != nil {
		return err
	}
	var known facts
	if version > 0 {
		readOnlyOptions := func(fs vfs.FS) *pebble.Options {
			opts := pebbleOptions(fs, d.lock, o)
			opts.ReadOnly = true
			opts.DisableConsistencyCheck = true // verification names the damaged files itself
			return opts
		}
		if known, err = verify(version, dir, fs, readOnlyOptions, o.Log); err != nil {
			return err
		}
	}
	if _, system := fs.(privateFS); system {
		changed, err := restrictModes(dir, o.Log)
		if err != nil {
			return err
		}
		if changed > 0 && version > 0 {
			o.Log.Warn("embedded store: other users of this machine could read the directory; now only its owner can", slog.String("dir", dir), slog.Int("modes", changed))
		}
	}
	d.space = newSpace(fs, dir, o.Log)
	if err := d.space.checkOpening(); err != nil {
		return err
	}
	if err := recoverSaved(fs, dir); err != nil {
		return err
	}
	if version < formatIntegrity {
		// A directory of a later format always has the integrity file, so it is created first.
		if err := createIntegrity(fs, dir, known); err != nil {
			return err
		}
	}
	if version < formatVersion {
		if err := markFormat(dir, fs); err != nil {
			return err
		}
	}
	files := &fileSystem{FS: fs, dir: dir, space: d.space}
	if d.integrity, err = openIntegrity(fs, dir, known, files.persist); err != nil {
		return err
	}
	files.integrity = d.integrity
	opts := pebbleOptions(files, d.lock, o)
	opts.EventListener.ManifestCreated = d.manifestCreated(o.Log)
	d.db, err = openPebble(dir, opts)
	return err
}

// manifestCreated returns the function that pebble calls after its marker names another
// manifest.
func (d *DB) manifestCreated(log *slog.Logger) func(pebble.ManifestCreateInfo) {
	return func(info pebble.ManifestCreateInfo) {
		if info.Err != nil {
			return
		}
		if err := d.integrity.manifestCurrent(uint64(info.FileNum)); err != nil {
			log.Error("embedded store: recording the current manifest", slog.Any("error", err))
		}
	}
}

// openPebble opens pebble. An error that is fatal to pebble is returned as an error here: no
// write has been acknowledged yet.
func openPebble(dir string, o *pebble.Options) (*pebble.DB, error) {
	l := &openLogger{logger: o.Logger.(logger), fatal: make(chan error, 1)}
	o.Logger = l
	type result struct {
		db  *pebble.DB
		err error
	}
	opened := make(chan result, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				opened <- result{err: fmt.Errorf("panic: %v", p)}
			}
		}()
		db, err := pebble.Open(dir, o)
		l.opened.Store(true)
		opened <- result{db, err}
	}()
	select {
	case r := <-opened:
		return r.db, r.err
	case fatal := <-l.fatal:
		return nil, fatal
	}
}

func pebbleOptions(fs vfs.FS, lock *pebble.Lock, from Options) *pebble.Options {
	o := &pebble.Options{
		CacheSize:                   cacheBytes,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		EventListener:               &pebble.EventListener{DataCorruption: dataCorruption(from.Log)},
		FormatMajorVersion:          pebble.FormatWALSyncChunks,
		FS:                          fs,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       24,
		LBaseMaxBytes:               64 << 20,
		Lock:                        lock,
		Logger:                      logger{from.Log},
		MaxOpenFiles:                openFiles,
		MemTableSize:                memtableBytes,
		MemTableStopWritesThreshold: 4,
		Merger:                      sums,
	}
	o.Levels[0].BlockSize = 8 << 10
	o.Levels[0].IndexBlockSize = 64 << 10
	o.Levels[0].FilterPolicy = bloom.FilterPolicy(10)
	if from.Small {
		o.CacheSize, o.MaxOpenFiles = smallCacheBytes, smallOpenFiles
	}
	if from.NoSync {
		o.WALMinSyncInterval = func() time.Duration { return syncEvery }
	}
	return o
}

// dataCorruption returns the function that pebble calls when a read finds a damaged table.
// The read fails; by default pebble would end the process.
func dataCorruption(log *slog.Logger) func(pebble.DataCorruptionInfo) {
	return func(info pebble.DataCorruptionInfo) {
		log.Error("embedded store: a file is damaged; reads of what it held fail", slog.String("file", info.Path), slog.Any("error", info.Details))
	}
}

// Close closes the directory. The DB must not be in use any more, and its iterators and
// snapshots must be closed.
func (d *DB) Close() error {
	d.space.stop()
	if d.syncer != nil {
		d.syncer.close()
	}
	return errors.Join(d.db.Close(), d.integrity.close(), d.lock.Close())
}

// Writable returns ErrFull if the disk has too little free space. Only writes that free
// space are then allowed.
func (d *DB) Writable() error {
	if d.space.full.Load() {
		return ErrFull
	}
	return nil
}

// Deletable returns ErrFull if the disk has too little free space even for deletes. They may
// use half of the reserve, because they free space.
func (d *DB) Deletable() error {
	if d.space.tight.Load() {
		return ErrFull
	}
	return nil
}

// Apply implements kv.DB. It writes all batches with a sync: pebble delays unsynced writes
// until 32 KiB are pending, for any length of time.
func (d *DB) Apply(b kv.Batch) error {
	own := b.(*batch)
	err := d.db.ApplyNoSyncWait(own.b, pebble.Sync)
	if err == nil {
		own.syncer = d.syncer
	}
	return err
}

// Wait returns once the applied batch is on disk.
func (d *DB) Wait(b kv.Batch) error {
	if d.syncer != nil {
		return nil
	}
	return b.(*batch).b.SyncWait()
}
