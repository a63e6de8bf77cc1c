// Package nginximport translates the parts of an nginx configuration that concern memcached
// into a configuration of Kasoku: the servers and how keys are distributed over them, the
// paths and their keys, the servers that answer misses, and JSONP calls. What it can't
// translate it notes with the line.
package nginximport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/nginxconf"
)

// Result is the result of translating a file.
type Result struct {
	YAML     string // the configuration, with the notes as comments
	Notes    []Note // in the order of lines
	Services int    // in YAML; with none there is nothing to run
	Found    string // describes the file if there are no services
}

// Note reports a directive that is not translated, or whose translation differs.
type Note struct {
	Line int // of the file; 0 if it concerns the whole file
	Text string
}

// translator translates a file in one pass and collects the results.
type translator struct {
	file      string
	upstreams map[string]*upstream
	services  []*service
	listening map[string]bool                 // addresses in use
	named     map[string]bool                 // names in use
	made      map[string]*nginxconf.Directive // variables defined by map, geo and similar directives
	notes     []Note
}

// Translate translates the directives of a file, which may be a whole configuration or a
// part of one: the content of http, the content of server, or a server with its upstreams.
func Translate(file string, conf nginxconf.Block) Result {
	t := &translator{file: file, upstreams: map[string]*upstream{}, listening: map[string]bool{}, named: map[string]bool{}}
	top := scope{}.in(t.flatten(conf))
	t.made = definitions(top.own())
	for _, d := range top.own().Named("upstream") {
		t.upstreams[d.Arg(0)] = t.upstream(d)
	}
	for _, d := range top.own().Named("server") {
		t.server(d.Line, top.in(d.Block))
	}
	if loose := top.own().Named("location", "memcached_pass"); len(loose) > 0 {
		t.note(loose[0].Line, "it is in no server, so the address to listen on is a guess")
		t.server(loose[0].Line, top)
	}
	t.unknown(top.own(), topKnown)
	slices.SortStableFunc(t.notes, func(a, b Note) int { return a.Line - b.Line })
	return Result{YAML: t.yaml(), Notes: t.notes, Services: len(t.services), Found: found(top.own())}
}

// flatten replaces http blocks by their content, because a file may be either.
func (t *translator) flatten(conf nginxconf.Block) nginxconf.Block {
	list := nginxconf.Block{}
	for _, d := range conf {
		if d.Name == "http" {
			list = append(list, d.Block...)
		} else {
			list = append(list, d)
		}
	}
	return list
}

func (t *translator) note(line int, format string, args ...any) {
	if n := (Note{line, fmt.Sprintf(format, args...)}); !slices.Contains(t.notes, n) {
		t.notes = append(t.notes, n)
	}
}

// unknown notes the directives of a block that are not among the known ones.
func (t *translator) unknown(b nginxconf.Block, known string) {
	for _, d := range b {
		switch {
		case contains(known, d.Name) || contains(harmless, d.Name):
		case d.Name == "include":
			t.include(d)
		case contains(guards, d.Name):
			t.note(d.Line, "%s: NOT TRANSLATED. Kasoku does not restrict access; keep something in front of it that does", d.Name)
		default:
			t.note(d.Line, "%s has no counterpart here", d.Name)
		}
	}
}

// include notes a file that is not read: its settings for memcached are missing.
func (t *translator) include(d *nginxconf.Directive) {
	name := d.Arg(0)
	if name[strings.LastIndexByte(name, '/')+1:] != "mime.types" {
		t.note(d.Line, "include %s: other files are not read; if they have settings for memcached, pass the output of nginx -T, which includes them", name)
	}
}

func contains(words, word string) bool { return slices.Contains(strings.Fields(words), word) }

// Directives that are translated or noted elsewhere, by the block that they appear in.
const (
	topKnown      = "http server upstream location set memcached_pass " + inherited
	serverKnown   = "listen server_name location set " + inherited
	locationKnown = "set memcached_pass " + inherited
	inherited     = `default_type charset add_header expires error_page memcached_namespace memcached_key
		memcached_connect_timeout memcached_read_timeout memcached_gzip_flag memcached_next_upstream
		proxy_set_header proxy_connect_timeout proxy_read_timeout
		jsonp_callback jsonp_callback_types xss_get xss_callback_arg xss_input_types xss_output_type
		echo_before_body echo_after_body`
	// guards restrict access.
	guards = "allow deny auth_basic auth_basic_user_file auth_request auth_jwt satisfy limit_req limit_conn limit_except secure_link valid_referers access_by_lua access_by_lua_block access_by_lua_file"
	// harmless have no influence on which answer a request gets, or have no counterpart
	// because Kasoku always behaves that way.
	harmless = `user pid events worker_processes worker_rlimit_nofile worker_connections daemon master_process error_log access_log log_format
		log_not_found log_subrequest open_log_file_cache types types_hash_max_size types_hash_bucket_size sendfile sendfile_max_chunk tcp_nopush tcp_nodelay aio directio
		keepalive_timeout keepalive_requests keepalive_disable reset_timedout_connection send_timeout client_header_timeout client_body_timeout
		client_header_buffer_size large_client_header_buffers client_body_buffer_size client_max_body_size client_body_temp_path server_tokens
		server_names_hash_bucket_size server_names_hash_max_size variables_hash_max_size variables_hash_bucket_size output_buffers postpone_output
		memcached_buffer_size memcached_buffers memcached_busy_buffers_size memcached_send_timeout memcached_socket_keepalive memcached_intercept_errors memcached_ignore_client_abort
		proxy_buffering proxy_buffer_size proxy_buffers proxy_busy_buffers_size proxy_http_version proxy_redirect proxy_intercept_errors proxy_send_timeout
		proxy_temp_path proxy_cache_path limit_req_zone limit_conn_zone resolver resolver_timeout load_module pcre_jit thread_pool env
		lua_package_path lua_package_cpath fastcgi_param uwsgi_param scgi_param gzip gzip_types gzip_min_length gzip_comp_level gzip_vary gzip_proxied gzip_disable gzip_buffers gzip_http_version gzip_static gunzip
		etag if_modified_since recursive_error_pages fastcgi_cache_path proxy_headers_hash_max_size server_name_in_redirect port_in_redirect xss_check_status`
)
