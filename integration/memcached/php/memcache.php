<?php
// Writes values in each of the forms that PHP's older extension has: memcache.php ADDRESS FILE.

[, $address, $file] = $argv;
[$host, $port] = explode(':', $address);
$text = file_get_contents($file);
$client = new Memcache();
$client->connect($host, (int)$port);

function store(string $key, mixed $value, int $flags = 0): void
{
	global $client;
	$client->set($key, $value, $flags) or throw new Exception("$key is not stored");
}

store('pecl-plain', $text);
store('pecl-zlib', $text, MEMCACHE_COMPRESSED);
store('pecl-auto', str_repeat($text, 3)); // longer than what it compresses unasked
store('pecl-flags', $text, 1 << 16 | MEMCACHE_COMPRESSED);
store('pecl-int', 1000, MEMCACHE_COMPRESSED);
store('pecl-float', 0.5);
store('pecl-infinite', INF);
store('pecl-true', true);
store('pecl-false', false);
store('pecl-array', [$text]);
store('pecl-array-zlib', [$text], MEMCACHE_COMPRESSED);
