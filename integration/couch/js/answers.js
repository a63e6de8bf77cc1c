'use strict';
// Properties of CouchDB 3's answers that express-pouchdb lacks: the revision as
// the validator of a document, no validator of computed answers, single ranges of
// attachments, one framing, HEAD as GET without the body.

const META = ['revs', 'revs_info', 'meta', 'conflicts', 'deleted_conflicts', 'local_seq', 'open_revs', 'atts_since'];

// kind returns the kind of resource that a path names.
function kind(pathname) {
  const [db, a, b, ...rest] = pathname.split('/').filter(Boolean);
  if (!db || db.startsWith('_') || a === undefined) return a === undefined && db && !db.startsWith('_') ? 'database' : 'other';
  const id = decodeURIComponent(a);
  if (id === '_design') {
    if (rest.length === 0) return b === undefined ? 'other' : 'document';
    return rest[0].startsWith('_') ? rest[0].slice(1) : 'attachment';
  }
  if (id === '_local') return 'document';
  if (id.startsWith('_')) return id === '_all_docs' || id === '_find' || id === '_bulk_get' ? 'view' : id.slice(1);
  return b === undefined ? 'document' : 'attachment';
}

function json(res, status, value) {
  const body = Buffer.from(JSON.stringify(value) + '\n');
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'must-revalidate',
    'Content-Length': body.length,
  });
  res.end(res.req && res.req.method === 'HEAD' ? undefined : body);
}

function parsed(body) {
  try { return JSON.parse(body); } catch (e) { return null; }
}

// revision sets a document's validator, unless the answer has members that the
// revision does not determine.
function revision(res, url, body) {
  const doc = META.some((k) => url.searchParams.has(k)) ? null : parsed(body);
  if (doc && doc._rev) res.setHeader('ETag', `"${doc._rev}"`);
}

// range returns one range of bytes of an attachment that CouchDB would store
// uncompressed.
function range(req, res, body) {
  if (/^(text\/|application\/(json|javascript|xml))/.test(res.getHeader('Content-Type') || '')) {
    res.setHeader('Accept-Ranges', 'none');
    return body;
  }
  res.setHeader('Accept-Ranges', 'bytes');
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(req.headers.range || '') || [];
  if (!first && !last) return body;
  const from = first ? Number(first) : Math.max(0, body.length - Number(last));
  const to = first && last ? Math.min(Number(last), body.length - 1) : body.length - 1;
  if (from > to) return body;
  res.statusCode = 206;
  res.setHeader('Content-Range', `bytes ${from}-${to}/${body.length}`);
  return body.subarray(from, to + 1);
}

// information adds the time when the database was created, in place of the start
// of the process, which express-pouchdb returns, and the node's form of sequence.
function information(databases, url, body) {
  const name = decodeURIComponent(url.pathname.split('/').filter(Boolean)[0]);
  const info = parsed(body);
  if (!info || !databases.has(name)) return body;
  info.instance_start_time = databases.born.get(name);
  info.update_seq = databases.sequences.token(info.update_seq);
  return Buffer.from(JSON.stringify(info) + '\n');
}

// sequences rewrites the answer of a feed that is not live.
function sequences(databases, body) {
  const feed = parsed(body);
  if (!feed || !feed.results) return body;
  const of = (n) => databases.sequences.token(n);
  for (const row of feed.results) row.seq = of(row.seq);
  const rows = feed.results.map((row) => JSON.stringify(row)).join(',\r\n');
  return Buffer.from(`{"results":[\n${rows}\n],\n"last_seq":${JSON.stringify(of(feed.last_seq))},"pending":0}\n`);
}

function validate(req, res) {
  const tag = res.getHeader('ETag');
  const asked = (req.headers['if-none-match'] || '').split(',').map((s) => s.trim().replace(/^W\//, ''));
  return Boolean(tag) && asked.includes(tag);
}

// hold buffers the answer of express-pouchdb and sends it as CouchDB does.
function hold(databases, req, res, url) {
  const head = req.method === 'HEAD';
  if (head) req.method = 'GET';
  const chunks = [];
  const { writeHead, end } = res;
  res.writeHead = function (status, reason, headers) {
    res.statusCode = status;
    for (const [k, v] of Object.entries((typeof reason === 'object' ? reason : headers) || {})) res.setHeader(k, v);
    return res;
  };
  const keep = (chunk, encoding) => {
    if (chunk && typeof chunk !== 'function') chunks.push(Buffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8'));
  };
  res.write = (chunk, encoding) => { keep(chunk, encoding); return true; };
  res.end = (chunk, encoding) => {
    keep(chunk, encoding);
    res.writeHead = writeHead;
    res.end = end;
    delete res.write;
    send(databases, req, res, url, head, Buffer.concat(chunks));
    return res;
  };
}

function send(databases, req, res, url, head, body) {
  const what = kind(url.pathname);
  const read = req.method === 'GET' && res.statusCode === 200;
  const computed = /^(view|list|show)$/.test(what);
  res.removeHeader('Content-Length');
  if (computed && what !== 'show') res.removeHeader('ETag');
  if (read && what === 'document') revision(res, url, body);
  if (read && what === 'database') body = information(databases, url, body);
  if (res.statusCode === 200 && what === 'changes') body = sequences(databases, body);
  if (read && what === 'attachment') body = range(req, res, body);
  if (!res.getHeader('Cache-Control') && what !== 'list' && what !== 'show') res.setHeader('Cache-Control', 'must-revalidate');
  if (read && validate(req, res)) {
    res.removeHeader('Content-Type');
    res.removeHeader('Cache-Control');
    res.statusCode = 304;
    return res.end();
  }
  if (head) {
    res.removeHeader('Transfer-Encoding');
    req.method = 'HEAD';
    res.setHeader('Content-Length', computed ? 0 : body.length);
    return res.end();
  }
  if (!computed || req.httpVersion === '1.0' || res.statusCode !== 200) {
    res.removeHeader('Transfer-Encoding'); // pouchdb-list sets both it and a length
    if (res.statusCode !== 204 && res.statusCode !== 304) res.setHeader('Content-Length', body.length);
    return res.end(body);
  }
  res.setHeader('Transfer-Encoding', 'chunked');
  for (let at = 0; at < body.length; at += 4096) res.write(body.subarray(at, at + 4096));
  res.end();
}

module.exports = { hold, json, kind };
